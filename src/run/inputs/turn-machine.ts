/**
 * A turn as a state machine: takes the session, answers waiting inputs in order, then its own, then those that came meanwhile,
 * and releases the session. Each event gives the next effect, by the record as it is then; `turn-taking.ts` performs it.
 *
 * `inputs/input.ts` defines the states of an input, `inputs/decide.ts` the order. Other processes queue and cancel inputs
 * without holding the session, so a conflict is no failure: the next effect is decided again.
 */
import type { InputNote } from '../../notes/kit.ts'
import type { LeaseSessionFault, SessionFault } from '../../session/index.ts'
import type { JsonObject } from '../../json/index.ts'
import type { CallbackThrew } from '../../task/index.ts'
import type { InputMismatch } from '../fault.ts'
import type { StopReason } from '../result.ts'
import type { LeaseLost } from '../run-lease.ts'
import { decide, nextOf } from './decide.ts'
import type { Input } from './input.ts'

/** Why nothing was started. */
export type StartFault = LeaseSessionFault | InputMismatch | CallbackThrew

/** What a turn is to do. It does not change. */
export interface TurnRequest {
  readonly session: string
  /** The id of the own input. */
  readonly id: string | undefined
  /** The message of the own input; undefined for a turn that continues an earlier one (`resume`). */
  readonly message: JsonObject | undefined
  readonly whenBusy: 'fail' | 'wait' | 'queue' | 'takeOver'
  /** The maximum milliseconds to wait for the session. */
  readonly wait: number
  /** Milliseconds to wait beyond a lease's expiry, to take over. A live holder has renewed it by then. */
  readonly margin: number
}

/** What is known when an effect is decided. */
export interface TurnFacts {
  readonly inputs: readonly Input[]
  /** The number of messages in the record. */
  readonly len: number
  readonly now: number
  readonly isHeld: boolean
  /** The fault of a lease that another holder has taken. */
  readonly lost: LeaseLost | undefined
  /** Why the turn was stopped before its run. */
  readonly stop: StopReason | undefined
  /** Whether the holder was asked to stop: it answers no other inputs. */
  readonly isStopped: boolean
  /** Whether the own input has another message in the record. */
  readonly isOther: boolean
}

/**
 * `asking`: wants the session. `waiting`: reads the record while another holds it. `queueing`: queues its input. `working`: has
 * the session and decides. `withdrawing`: was cancelled. `running`: its own run is under way. `closing`: records how a run ended.
 * `restarting`: lost the session before it did anything. `leaving`: releases it. `looking`: reads what was written until
 * then. `returning`: asks for it again.
 */
type Phase =
  | 'asking'
  | 'waiting'
  | 'queueing'
  | 'working'
  | 'withdrawing'
  | 'running'
  | 'closing'
  | 'restarting'
  | 'leaving'
  | 'looking'
  | 'returning'

export interface TurnState {
  readonly phase: Phase
  /** The time until which it waits for the session. */
  readonly until: number
  /** Whether it has found the session busy, and waits longer than for the first attempt. */
  readonly isPatient: boolean
  /** The input of the run. */
  readonly running: string | undefined
  /** How the run ended. */
  readonly reason: StopReason | undefined
  /** Whether the outcome of the own input is decided. */
  readonly isDecided: boolean
  /** Why nothing more is done: the end of a run is not recorded, or the record can't be changed. */
  readonly fault: StartFault | undefined
  /** The conflicts since the last success. */
  readonly conflicts: number
}

export type TurnEvent =
  | { readonly type: 'asked' | 'taken' | 'stopped' | 'done' | 'conflict' }
  | { readonly type: 'busy'; readonly fault: Extract<SessionFault, { readonly _tag: 'SessionBusy' }> }
  | { readonly type: 'failed'; readonly fault: StartFault }
  /** The turn's own run starts; or there is nothing to run. */
  | { readonly type: 'begun'; readonly input: string | undefined }
  | { readonly type: 'idle'; readonly reason: StopReason }
  | { readonly type: 'ran'; readonly reason: StopReason }
  /** Whether the record has rows that this handle has not read. */
  | { readonly type: 'released'; readonly isBehind: boolean }

export type TurnEffect =
  | { readonly type: 'take'; readonly wait: number }
  | { readonly type: 'refresh' | 'release' }
  | { readonly type: 'note'; readonly note: InputNote }
  /** Start the own run: for a new input (undefined), or one that is in the record. */
  | { readonly type: 'begin'; readonly input: Input | undefined }
  /** Run another turn's input to its end. */
  | { readonly type: 'answer'; readonly input: Input }
  /** The own outcome: a run that has begun, a result without a run, a fault. */
  | { readonly type: 'run' }
  | { readonly type: 'over'; readonly reason: StopReason; readonly input: Input | undefined }
  | { readonly type: 'fail'; readonly fault: StartFault }
  /** Nothing is left to do. */
  | { readonly type: 'rest' }

export type Decided = readonly [state: TurnState, effect: TurnEffect]

export const newTurn: TurnState = {
  phase: 'asking',
  until: 0,
  isPatient: false,
  running: undefined,
  reason: undefined,
  isDecided: false,
  fault: undefined,
  conflicts: 0,
}

/** Milliseconds between two checks of a session that another process holds. */
const pollMs = 100

/** The maximum number of attempts if writers without a lease keep interfering. */
const mostTries = 100

export const decideTurn = (request: TurnRequest, from: TurnState, event: TurnEvent, facts: TurnFacts): Decided => {
  const state: TurnState = { ...from, conflicts: event.type === 'conflict' ? from.conflicts + 1 : 0 }
  switch (event.type) {
    case 'asked':
      return ask(request, { ...newTurn, until: facts.now + (request.whenBusy === 'wait' ? request.wait : 0) }, facts)
    case 'taken':
      return next(request, state.phase === 'withdrawing' ? state : { ...state, phase: 'working' }, facts)
    case 'conflict':
      if (state.conflicts < mostTries) return next(request, state, facts)
      return failed(request, state, { _tag: 'Busy', waited: 0 }, facts)
    case 'stopped':
    case 'done':
      return next(request, state, facts)
    case 'busy':
      return refused(request, state, event.fault, facts)
    case 'failed':
      return failed(request, state, event.fault, facts)
    case 'begun':
      return [{ ...state, phase: 'running', running: event.input, isDecided: true }, { type: 'run' }]
    case 'idle':
      return over(state, event.reason)
    case 'ran': {
      const ended: TurnState = { ...state, phase: 'closing', reason: event.reason }
      if (!facts.isHeld) return rest(ended)
      return facts.lost === undefined ? close(request, ended, facts) : failed(request, ended, facts.lost, facts)
    }
    case 'released':
      if (state.phase === 'restarting') return decideTurn(request, newTurn, { type: 'asked' }, facts)
      if (isStopping(state, facts) || !event.isBehind) return rest(state)
      // An input may have been queued since the last look, by a process that does not wait.
      return [{ ...state, phase: 'looking' }, { type: 'refresh' }]
  }
}

/** The next effect in a phase, by the record as it is now. */
const next = (request: TurnRequest, state: TurnState, facts: TurnFacts): Decided => {
  switch (state.phase) {
    case 'waiting':
      return finished(request, state, facts) ?? ask(request, state, facts)
    case 'queueing':
      return enqueue(request, state, facts)
    case 'working':
      return work(request, state, facts)
    case 'withdrawing':
      return withdraw(request, state, facts)
    case 'closing':
      return close(request, state, facts)
    case 'looking':
      if (nextOf(facts.inputs) === undefined) return rest(state)
      return [
        { ...state, phase: 'returning' },
        { type: 'take', wait: 0 },
      ] // if another process has it, that one answers them
    default:
      return ask(request, state, facts)
  }
}

const over = (state: TurnState, reason: StopReason, input?: Input): Decided => [
  { ...state, phase: 'running', isDecided: true },
  { type: 'over', reason, input },
]

const rest = (state: TurnState): Decided => [state, { type: 'rest' }]

const note = (state: TurnState, written: Omit<InputNote, 'type'>): Decided => [
  state,
  { type: 'note', note: { type: 'input', ...written } },
]

const ownInput = ({ id }: TurnRequest, { inputs }: TurnFacts): Input | undefined =>
  id === undefined ? undefined : inputs.find((input) => input.id === id)

/** The outcome of the own input, if another run has handled it. */
const finished = (request: TurnRequest, state: TurnState, facts: TurnFacts): Decided | undefined => {
  const own = request.message === undefined ? undefined : ownInput(request, facts)
  if (own === undefined) return undefined
  if (facts.isOther) return mismatch(request, state, own)
  if (own.state === 'answered' || own.state === 'cancelled') return over(state, own.state, own)
  return own.state === 'waiting' ? over(state, 'approval', own) : undefined
}

const mismatch = ({ session }: TurnRequest, state: TurnState, { id }: Input): Decided => [
  { ...state, isDecided: true },
  { type: 'fail', fault: { _tag: 'InputMismatch', session, id } },
]

/** Ask for the session, unless the turn was stopped. */
const ask = (request: TurnRequest, state: TurnState, facts: TurnFacts): Decided => {
  if (facts.stop !== undefined) return stop(request, state, facts.stop)
  const wait = Math.max(0, Math.min(pollMs, state.until - facts.now))
  return [
    { ...state, phase: 'asking' },
    { type: 'take', wait },
  ]
}

/** Another process holds the session. */
const refused = (
  request: TurnRequest,
  state: TurnState,
  fault: Extract<TurnEvent, { readonly type: 'busy' }>['fault'],
  facts: TurnFacts,
): Decided => {
  const { whenBusy, margin } = request
  if (state.phase === 'returning') return rest(state)
  if (state.phase === 'withdrawing') return over(state, 'queued')
  if (facts.now < state.until) return [{ ...state, phase: 'waiting' }, { type: 'refresh' }]
  if (!state.isPatient && whenBusy === 'queue')
    return enqueue(request, { ...state, phase: 'queueing', isPatient: true }, facts)
  if (!state.isPatient && whenBusy === 'takeOver')
    return ask(request, { ...state, isPatient: true, until: facts.now + fault.remaining + margin }, facts)
  return state.isPatient && whenBusy === 'queue' ? over(state, 'queued') : failed(request, state, fault, facts)
}

/** Queue the own input unless it already is, then wait for the session. A failed input keeps its old place. */
const enqueue = (request: TurnRequest, state: TurnState, facts: TurnFacts): Decided => {
  const own = ownInput(request, facts)
  if (own !== undefined && own.state !== 'failed')
    return finished(request, state, facts) ?? ask(request, { ...state, until: facts.now + request.wait }, facts)
  return queue(request, state)
}

const queue = ({ id, message }: TurnRequest, state: TurnState): Decided =>
  note(state, { id: id as string, state: 'queued', message: message as JsonObject }) // a queued input has both

/** With the session held, decide what comes next. */
const work = (request: TurnRequest, state: TurnState, facts: TurnFacts): Decided => {
  if (state.isDecided) return drain(state, facts)
  if (facts.stop !== undefined) return stop(request, state, facts.stop)
  const { id, message, whenBusy } = request
  if (message === undefined) return [state, { type: 'begin', input: undefined }]
  const found = finished(request, state, facts)
  if (found !== undefined) return found
  const decision = decide(facts.inputs, { id, denies: whenBusy !== 'queue' })
  switch (decision.type) {
    case 'report':
    case 'leave':
      return over(state, 'queued')
    case 'queue':
      return queue(request, state)
    case 'answer':
      return answer(state, decision.input)
    case 'withdraw':
      return note(state, { id: decision.input.id, state: 'cancelled', reason: 'something else was said' })
    case 'take':
      return [state, { type: 'begin', input: decision.known }]
  }
}

const answer = (state: TurnState, input: Input): Decided => [
  { ...state, running: input.id },
  { type: 'answer', input },
]

/** Answer the inputs that wait, then release the session. */
const drain = (state: TurnState, facts: TurnFacts): Decided => {
  const waiting = isStopping(state, facts) ? undefined : nextOf(facts.inputs)
  return waiting === undefined ? [{ ...state, phase: 'leaving' }, { type: 'release' }] : answer(state, waiting)
}

/** Whether no other inputs are answered: an input whose end is not recorded would be answered again, although its run has ended. */
const isStopping = ({ fault, reason }: TurnState, { isStopped }: TurnFacts): boolean =>
  isStopped || fault !== undefined || reason === 'paused'

/** The turn was stopped before its run started. A cancelled input stays unanswered unless another run answers it. */
const stop = (request: TurnRequest, state: TurnState, reason: StopReason): Decided => {
  if (reason !== 'cancelled' || request.message === undefined) return over(state, reason)
  // This handle may not have read the input, or its end, yet.
  return request.id === undefined ? over(state, reason) : [{ ...state, phase: 'withdrawing' }, { type: 'refresh' }]
}

const withdraw = (request: TurnRequest, state: TurnState, facts: TurnFacts): Decided => {
  const own = ownInput(request, facts)
  if (own !== undefined && facts.isOther) return mismatch(request, state, own)
  if (own?.state === 'answered') return over(state, 'answered', own)
  if (own?.state === 'taken' && !facts.isHeld) return [state, { type: 'take', wait: 0 }] // if that is granted, its run is dead
  if (own === undefined || own.state === 'failed' || own.state === 'cancelled') return over(state, 'cancelled')
  return note(state, { id: own.id, state: 'cancelled', reason: 'cancelled' })
}

/** Record how a run ended, unless its last append did. A paused one stays taken: the next holder continues it. */
const close = (request: TurnRequest, state: TurnState, facts: TurnFacts): Decided => {
  const { running, reason = 'error' } = state
  const known = reason === 'paused' ? undefined : facts.inputs.find(({ id }) => id === running)
  const after = stateAfter(reason)
  if (known?.state === 'taken' || (known?.state === 'waiting' && after !== 'waiting'))
    return note(state, { id: known.id, state: after, ...(after === 'answered' && { at: facts.len }), reason })
  return work(request, { ...state, phase: 'working', running: undefined }, facts)
}

/** The state of an input after its run. A run ended by the application's `stopWhen` counts as answered. */
const stateAfter = (reason: StopReason): 'answered' | 'waiting' | 'failed' | 'cancelled' => {
  if (reason === 'end_turn' || reason === 'custom') return 'answered'
  if (reason === 'approval') return 'waiting'
  return reason === 'cancelled' ? 'cancelled' : 'failed'
}

const failed = (request: TurnRequest, state: TurnState, fault: StartFault, facts: TurnFacts): Decided => {
  const { whenBusy, message } = request
  if (state.phase === 'looking') return next(request, state, facts) // what is known decides
  if (state.isDecided) return facts.isHeld ? drain({ ...state, fault }, facts) : rest(state)
  // A process that was paused too long lost the session before doing anything, so it starts over.
  if (fault._tag === 'LeaseLost' && facts.isHeld && whenBusy !== 'fail' && message !== undefined)
    return [{ ...state, phase: 'restarting' }, { type: 'release' }]
  return [
    { ...state, phase: 'running', isDecided: true },
    { type: 'fail', fault },
  ]
}
