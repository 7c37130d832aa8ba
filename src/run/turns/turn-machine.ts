/**
 * A turn as a state machine: takes the session, answers waiting inputs in order, then its own, then those that came meanwhile,
 * and releases the session. Each event gives the next effect, by the record as it is then; `turn-taking.ts` performs it.
 *
 * `input.ts` defines the states of an input, `decide.ts` the order. Other processes queue and cancel inputs
 * without holding the session, so a conflict is no failure: the next effect is decided again.
 */
import type { JsonObject } from '../../json/index.ts'
import type { InputNote } from '../../notes/internal.ts'
import type { LeaseSessionFault } from '../../session/internal.ts'
import type { CallbackThrew } from '../../task/index.ts'
import type { InputMismatch, NotWaiting } from '../fault.ts'
import type { StopReason } from '../result.ts'
import type { LeaseLost } from '../recording/run-lease.ts'
import { decide, nextOf } from './decide.ts'
import type { Input } from './input.ts'

/** Why nothing was started. */
export type StartFault = LeaseSessionFault | InputMismatch | NotWaiting | CallbackThrew

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

export interface TurnState {
  /**
   * `asking`: wants the session. `waiting`: reads the record while another holds it, and may queue its input. `working`: has
   * the session and decides. `withdrawing`: was cancelled. `closing`: records how a run ended. `leaving`: releases the
   * session, and reads what was written until then.
   */
  readonly phase: 'asking' | 'waiting' | 'working' | 'withdrawing' | 'closing' | 'leaving'
  /** The time until which it waits for the session. */
  readonly until: number
  /** Whether it has found the session busy, and waits longer than for the first attempt. */
  readonly isPatient: boolean
  /** The input of the run, and how the run ended. */
  readonly running: string | undefined
  readonly reason: StopReason | undefined
  /** Whether the outcome of the own input is decided. Others are still answered. */
  readonly isDecided: boolean
  /** Why nothing more is answered: the end of a run is not recorded, or the record can't be changed. */
  readonly fault: StartFault | undefined
  /** The conflicts since the last success. */
  readonly conflicts: number
}

export type TurnEvent =
  | { readonly type: 'asked' | 'taken' | 'stopped' | 'done' | 'conflict' }
  | { readonly type: 'failed'; readonly fault: StartFault }
  /** The turn's own run starts; or there is nothing to run. */
  | { readonly type: 'begun'; readonly input: string | undefined }
  | { readonly type: 'idle' | 'ran'; readonly reason: StopReason }
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
  /** The own outcome: a run that has begun, a result without a run, a fault. `rest`: nothing is left to do. */
  | { readonly type: 'run' | 'rest' }
  | { readonly type: 'over'; readonly reason: StopReason; readonly input: Input | undefined }
  | { readonly type: 'fail'; readonly fault: StartFault }

type Decided = readonly [state: TurnState, effect: TurnEffect]

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

/** The decisions about which input is answered next. */
interface Order {
  readonly decide: typeof decide
  readonly nextOf: typeof nextOf
}

export const decideTurn = (
  request: TurnRequest,
  state: TurnState,
  event: TurnEvent,
  facts: TurnFacts,
  order: Order = { decide, nextOf },
): Decided =>
  new Decision(request, facts, order).on(
    { ...state, conflicts: event.type === 'conflict' ? state.conflicts + 1 : 0 },
    event,
  )

class Decision {
  readonly #request: TurnRequest
  readonly #facts: TurnFacts
  readonly #order: Order
  readonly #own: Input | undefined

  constructor(request: TurnRequest, facts: TurnFacts, order: Order) {
    this.#request = request
    this.#facts = facts
    this.#order = order
    const { id, message } = request
    this.#own = id === undefined || message === undefined ? undefined : facts.inputs.find((input) => input.id === id)
  }

  on(state: TurnState, event: TurnEvent): Decided {
    const { isHeld, lost, now } = this.#facts
    switch (event.type) {
      case 'asked': {
        const { whenBusy, wait } = this.#request
        return this.#ask({ ...newTurn, until: now + (whenBusy === 'wait' ? wait : 0) })
      }
      case 'taken':
        return this.#next(state.phase === 'withdrawing' ? state : { ...state, phase: 'working' })
      case 'stopped':
      case 'done':
        return this.#next(state)
      case 'conflict':
        return state.conflicts < mostTries ? this.#next(state) : this.#failed(state, { _tag: 'Busy', waited: 0 })
      case 'failed':
        return this.#failed(state, event.fault)
      case 'begun':
        return [{ ...state, running: event.input, isDecided: true }, { type: 'run' }]
      case 'idle':
        return over(state, event.reason)
      case 'ran': {
        const ended: TurnState = { ...state, phase: 'closing', reason: event.reason }
        if (!isHeld) return rest(ended)
        return lost === undefined ? this.#close(ended) : this.#failed(ended, lost)
      }
      case 'released':
        if (!state.isDecided) return this.on(newTurn, { type: 'asked' }) // lost before it did anything
        // An input may have been queued since the last look, by a process that does not wait.
        return this.#isStopping(state) || !event.isBehind ? rest(state) : [state, { type: 'refresh' }]
    }
  }

  /** The next effect in a phase, by the record as it is now. */
  #next(state: TurnState): Decided {
    switch (state.phase) {
      case 'asking':
        return this.#ask(state)
      case 'waiting':
        return this.#wait(state)
      case 'working':
        return this.#work(state)
      case 'withdrawing':
        return this.#withdraw(state)
      case 'closing':
        return this.#close(state)
      case 'leaving': // if another process has the session now, that one answers them
        return this.#order.nextOf(this.#facts.inputs) === undefined
          ? rest(state)
          : [{ ...state, phase: 'asking' }, take]
    }
  }

  /** Ask for the session, unless the turn was stopped. */
  #ask(state: TurnState): Decided {
    const { stop, now } = this.#facts
    if (stop !== undefined) return this.#stop(state, stop)
    return [
      { ...state, phase: 'asking' },
      { type: 'take', wait: Math.max(0, Math.min(pollMs, state.until - now)) },
    ]
  }

  /** Another process holds the session. The record was read: queue the own input unless it already is, and ask again. */
  #wait(state: TurnState): Decided {
    const isQueuing = state.isPatient && this.#request.whenBusy === 'queue'
    // A failed input keeps its old place.
    if (isQueuing && (this.#own === undefined || this.#own.state === 'failed')) return this.#queue(state)
    return this.#finished(state) ?? this.#ask(state)
  }

  #queue(state: TurnState): Decided {
    const { id, message } = this.#request
    return note(state, { id: id as string, state: 'queued', message: message as JsonObject }) // a queued input has both
  }

  /** The outcome of the own input, if another run has handled it. */
  #finished(state: TurnState): Decided | undefined {
    const own = this.#own
    if (own === undefined) return undefined
    if (this.#facts.isOther) return fail(state, { _tag: 'InputMismatch', session: this.#request.session, id: own.id })
    if (own.state === 'answered' || own.state === 'cancelled') return over(state, own.state, own)
    return own.state === 'waiting' ? over(state, 'approval', own) : undefined
  }

  /** With the session held, decide what comes next. */
  #work(state: TurnState): Decided {
    const { stop, inputs } = this.#facts
    if (state.isDecided) return this.#drain(state)
    if (stop !== undefined) return this.#stop(state, stop)
    const { id, message, whenBusy } = this.#request
    if (message === undefined) return [state, { type: 'begin', input: undefined }]
    const finished = this.#finished(state)
    if (finished !== undefined) return finished
    const decision = this.#order.decide(inputs, { id, denies: whenBusy !== 'queue' })
    switch (decision.type) {
      case 'leave':
        return over(state, 'queued')
      case 'queue':
        return this.#queue(state)
      case 'answer':
        return answer(state, decision.input)
      case 'withdraw':
        return note(state, { id: decision.input.id, state: 'cancelled', reason: 'something else was said' })
      case 'take':
        return [state, { type: 'begin', input: decision.known }]
    }
  }

  /** Answer the inputs that wait, then release the session. */
  #drain(state: TurnState): Decided {
    const waiting = this.#isStopping(state) ? undefined : this.#order.nextOf(this.#facts.inputs)
    return waiting === undefined ? [{ ...state, phase: 'leaving' }, { type: 'release' }] : answer(state, waiting)
  }

  /** Whether no other inputs are answered: one whose end is not recorded would be answered again, although its run has ended. */
  #isStopping({ fault, reason }: TurnState): boolean {
    return this.#facts.isStopped || fault !== undefined || reason === 'paused'
  }

  /** The turn was stopped before its run started. This handle may not have read its input, or the input's end, yet. */
  #stop(state: TurnState, reason: StopReason): Decided {
    const { id, message } = this.#request
    if (reason !== 'cancelled' || id === undefined || message === undefined) return over(state, reason)
    return [{ ...state, phase: 'withdrawing' }, { type: 'refresh' }]
  }

  /** The own input stays unanswered unless another run answers it. */
  #withdraw(state: TurnState): Decided {
    const own = this.#own
    if (own?.state === 'answered' || this.#facts.isOther) return this.#finished(state) as Decided // there is one
    if (own?.state === 'taken' && !this.#facts.isHeld) return [state, take] // if that is granted, its run is dead
    if (own === undefined || own.state === 'failed' || own.state === 'cancelled') return over(state, 'cancelled')
    return note(state, { id: own.id, state: 'cancelled', reason: 'cancelled' })
  }

  /** Record how a run ended, unless its last append did. A paused one stays taken: the next holder continues it. */
  #close(state: TurnState): Decided {
    const { running, reason = 'error' } = state
    const known = reason === 'paused' ? undefined : this.#facts.inputs.find(({ id }) => id === running)
    const after = stateAfter(reason)
    if (known?.state !== 'taken' && (known?.state !== 'waiting' || after === 'waiting'))
      return this.#work({ ...state, phase: 'working', running: undefined })
    const at = after === 'answered' ? { at: this.#facts.len } : {}
    return note(state, { id: known.id, state: after, ...at, reason })
  }

  #failed(state: TurnState, fault: StartFault): Decided {
    const { whenBusy, message, wait, margin } = this.#request
    const { isHeld, now } = this.#facts
    if (state.phase === 'leaving') return this.#next(state) // what is known decides
    if (state.isDecided) return isHeld ? this.#drain({ ...state, fault }) : rest(state)
    // A process that was paused too long lost the session before doing anything, so it starts over.
    if (fault._tag === 'LeaseLost' && isHeld && whenBusy !== 'fail' && message !== undefined)
      return [state, { type: 'release' }]
    if (fault._tag !== 'SessionBusy') return fail(state, fault)
    if (state.phase === 'withdrawing') return over(state, 'queued')
    if (now < state.until) return [{ ...state, phase: 'waiting' }, { type: 'refresh' }]
    if (whenBusy === 'queue')
      return state.isPatient
        ? over(state, 'queued')
        : this.#wait({ ...state, phase: 'waiting', isPatient: true, until: now + wait })
    if (state.isPatient || whenBusy !== 'takeOver') return fail(state, fault)
    return this.#ask({ ...state, isPatient: true, until: now + fault.remaining + margin })
  }
}

const take: TurnEffect = { type: 'take', wait: 0 }

const rest = (state: TurnState): Decided => [state, { type: 'rest' }]

const over = (state: TurnState, reason: StopReason, input?: Input): Decided => [
  { ...state, isDecided: true },
  { type: 'over', reason, input },
]

const fail = (state: TurnState, fault: StartFault): Decided => [
  { ...state, isDecided: true },
  { type: 'fail', fault },
]

const note = (state: TurnState, fields: Omit<InputNote, 'type'>): Decided => [
  state,
  { type: 'note', note: { type: 'input', ...fields } },
]

const answer = (state: TurnState, input: Input): Decided => [
  { ...state, running: input.id },
  { type: 'answer', input },
]

/** The state of an input after its run. A run ended by the application's `stopWhen` counts as answered. */
const stateAfter = (reason: StopReason): 'answered' | 'waiting' | 'failed' | 'cancelled' => {
  if (reason === 'end_turn' || reason === 'custom') return 'answered'
  if (reason === 'approval') return 'waiting'
  return reason === 'cancelled' ? 'cancelled' : 'failed'
}
