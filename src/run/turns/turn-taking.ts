/**
 * Takes turns on a session: performs the effects that `turn-machine.ts` decides, one after another, and gives it what
 * came of each.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, present, right } from '../../json/index.ts'
import type { Message } from '../../message/index.ts'
import type { Session } from '../../session/index.ts'
import { sameHead } from '../../store/internal.ts'
import { clockOf, thrownFault, type Clock } from '../../task/index.ts'
import type { Control } from '../loop/control.ts'
import { turnFaultText, type RunFailure, type TurnFault } from '../fault.ts'
import type { RunHandler } from '../handler.ts'
import { answerTo, inputsIn, saysSame, type Input } from './input.ts'
import {
  decideTurn,
  newTurn,
  type StartFault,
  type TurnEffect,
  type TurnEvent,
  type TurnFacts,
  type TurnRequest,
  type TurnState,
} from './turn-machine.ts'
import {
  launchRun,
  type NothingToRun,
  type RunOwner,
  type RunSettings,
  type RunStream,
  type TellWaiting,
} from '../launch.ts'
import type { Start } from '../loop/loop.ts'
import { noUsage, type RunResult, type StopReason } from '../result.ts'
import { acquireRunLease, type LeaseLost, type RunLease, type RunLeaseOptions } from '../recording/run-lease.ts'
import { recordingHandler, type SessionHandlerOptions } from '../recording/session-handler.ts'
import { appendExpected, isOver, startRun, unknownTokens, waitingStepOf, type Continuation } from './start.ts'

/** How a session is held and written to. */
interface HoldOptions
  extends Pick<SessionHandlerOptions, 'journalEvery'>, Pick<RunLeaseOptions, 'holder' | 'ttl' | 'clock'> {
  /** Called with each run that answers the input of another turn. */
  readonly onQueuedRun?: (run: RunStream<TurnFault>, input: string) => unknown
}

/** A turn's session and settings. */
interface TurnContext {
  readonly session: Session
  readonly settings: RunSettings
  readonly continuation: Continuation
  readonly options: HoldOptions
  readonly request: TurnRequest
}

/** Starts a turn. */
export const takeTurn = (context: TurnContext): RunStream<TurnFault> =>
  launchRun<StartFault>(context.settings, new TurnTaking(context), turnFaultText)

class TurnTaking implements RunOwner<StartFault> {
  readonly #context: TurnContext
  readonly #session: Session
  readonly #clock: Clock
  #state: TurnState = newTurn
  #lease: RunLease | undefined
  #control: Control | undefined
  #tell: TellWaiting | undefined
  /** The holder that the turn last reported to wait for. */
  #waitedFor: string | undefined
  /** The run that answers another turn's input. */
  #going: Pick<RunStream, 'cancel'> | undefined
  /** The start of the own run. */
  #start: Start | undefined
  /** An attempt to hold the session that was under way when the turn was stopped. */
  #leftTake: Promise<Either<StartFault, undefined>> | undefined
  #isStopped = false
  #finished: Promise<StartFault | undefined> | undefined

  constructor(context: TurnContext) {
    this.#context = context
    this.#session = context.session
    this.#clock = clockOf(context.options.clock)
  }

  async findStart(control: Control, tell: TellWaiting): Promise<Either<StartFault, Start | NothingToRun>> {
    this.#control = control
    this.#tell = tell
    const outcome = await this.#proceed({ type: 'asked' })
    if (outcome.type === 'fail') return left(outcome.fault)
    return right(outcome.type === 'over' ? this.#over(outcome.reason, outcome.input) : (this.#start as Start)) // it has begun
  }

  /**
   * Ends the turn: records the end of its input, answers other inputs in the background, and
   * releases the session. A run that lost its session, or whose end the store did not take, gets that fault instead of
   * `cancelled`: others will answer its input.
   */
  async finish(ended: Either<TurnFault, RunResult>): Promise<Either<TurnFault, RunResult>> {
    await this.#leftTake
    const fault = await this.#finish(isLeft(ended) ? 'error' : ended.right.stopReason)
    if (isLeft(ended)) return ended.left._tag === 'HandlerFailed' && isLost(ended.left) ? left(ended.left.cause) : ended
    return fault !== undefined && ended.right.stopReason === 'cancelled' ? left(fault) : ended
  }

  /** Returns the fault with which the end of the own input was not recorded. */
  #finish(reason: StopReason): Promise<StartFault | undefined> {
    return (this.#finished ??= this.#proceed({ type: 'ran', reason }, ['take', 'answer']).then((effect) => {
      const { fault } = this.#state
      void this.#answerOthers(effect)
      return fault
    }))
  }

  async #answerOthers(effect: TurnEffect): Promise<void> {
    try {
      const event = await this.#perform(effect)
      if (event !== undefined) await this.#proceed(event)
    } catch (error) {
      await this.release()
      throw error
    }
  }

  /** Performs what follows an event, up to an outcome or before the first effect of a type. */
  async #proceed(first: TurnEvent, before: readonly TurnEffect['type'][] = []): Promise<TurnEffect> {
    for (let event = first; ;) {
      const [state, effect] = decideTurn(this.#context.request, this.#state, event, this.#facts())
      this.#state = state
      const next = before.includes(effect.type) ? undefined : await this.#perform(effect)
      if (next === undefined) return effect
      event = next
    }
  }

  #facts(): TurnFacts {
    const { id, message } = this.#context.request
    const inputs = inputsIn(this.#session.notes())
    const own = id === undefined || message === undefined ? undefined : inputs.find((input) => input.id === id)
    const lease = this.#lease
    return {
      inputs,
      len: this.#session.len,
      now: this.#clock.now(),
      isHeld: lease !== undefined,
      lost: lease?.lost === true ? lease.fault : undefined,
      stop: this.#control?.pending?.stop,
      isStopped: this.#isStopped,
      isOther: own !== undefined && !saysSame(this.#session, own, message as unknown as Message),
    }
  }

  /** Performs an effect. Returns what came of it; undefined for an outcome, which is nothing to perform. */
  async #perform(effect: TurnEffect): Promise<TurnEvent | undefined> {
    const performed = await this.#eventOf(effect).catch(thrownFault<StartFault>)
    if (!isLeft(performed)) return performed.right
    const fault = performed.left
    return fault._tag === 'SessionConflict' ? { type: 'conflict' } : { type: 'failed', fault }
  }

  async #eventOf(effect: TurnEffect): Promise<Either<StartFault, TurnEvent | undefined>> {
    switch (effect.type) {
      case 'take':
        return this.#take(effect.wait)
      case 'refresh': {
        const missed = await this.#session.refresh()()
        return isLeft(missed) ? missed : right({ type: 'done' })
      }
      case 'note': {
        const noted = await appendExpected(this.#session, this.#lease, { messages: [], notes: [effect.note] })
        return isLeft(noted) ? noted : right({ type: 'done' })
      }
      case 'begin':
        return this.#beginRun(effect.input)
      case 'answer':
        return this.#answer(effect.input)
      case 'release':
        return right({ type: 'released', isBehind: await this.release() })
      default:
        return right(undefined)
    }
  }

  async #take(wait: number): Promise<Either<StartFault, TurnEvent>> {
    const taking = this.#acquire(wait)
    const { phase, isDecided } = this.#state
    const isCut = phase === 'asking' && !isDecided
    const taken = isCut ? await unlessStopped(this.#control as Control, taking) : await taking // the turn has begun
    if (taken === undefined) this.#leftTake = taking
    else if (isLeft(taken)) this.#tellWaiting(taken.left)
    return taken !== undefined && isLeft(taken) ? taken : right({ type: taken === undefined ? 'stopped' : 'taken' })
  }

  /** Reports what the turn waits for, once for each holder. */
  #tellWaiting(fault: StartFault): void {
    const { whenBusy, wait } = this.#context.request
    if (fault._tag !== 'SessionBusy' || whenBusy === 'fail' || wait <= 0 || this.#start !== undefined) return
    if (fault.holder === this.#waitedFor) return
    this.#waitedFor = fault.holder
    const { holder, remaining } = fault
    this.#tell?.({ type: 'waiting', for: 'session', holder, remaining, ...(Number.isFinite(wait) && { wait }) })
  }

  /** Tries once to hold the session. */
  async #acquire(wait: number): Promise<Either<StartFault, undefined>> {
    const before = await this.#leftTake
    this.#leftTake = undefined
    if (before !== undefined && !isLeft(before)) return before
    const control = this.#control as Control // the turn has begun
    let earlyStop: string | undefined
    const { holder, ttl, clock } = this.#context.options
    const held = await acquireRunLease(
      this.#session,
      { ...present({ holder, ttl, clock }), whenBusy: 'wait', wait },
      (reason, isLost) => {
        if (this.#lease === undefined) {
          if (!isLost) earlyStop = reason
          return
        }
        this.#isStopped = true
        // A lease lost before the turn's run started is requested again: nothing was cancelled.
        if (this.#going !== undefined) this.#going.cancel()
        else if (this.#start !== undefined || !isLost) control.cancel(reason, 'saveMarked')
      },
    )
    if (isLeft(held)) return held
    this.#lease = held.right
    if (earlyStop !== undefined) {
      this.#isStopped = true
      control.cancel(earlyStop)
    }
    return right(undefined)
  }

  /** Releases the session. Returns whether it may have rows that this handle has not read. */
  async release(): Promise<boolean> {
    const head = await this.#lease?.release()
    this.#lease = undefined
    if (!this.#state.isDecided) this.#isStopped = false
    return head === undefined || !sameHead(head, this.#session.head())
  }

  /** Finds the start of the own run. */
  async #beginRun(known: Input | undefined): Promise<Either<StartFault, TurnEvent>> {
    const { id: ownId, message } = this.#context.request
    const input = message === undefined ? this.#unfinished() : known
    const id = message === undefined ? input?.id : ownId
    const tokens = message === undefined ? unknownTokens(this.#session, this.#context.continuation, input) : []
    if (tokens.length > 0) return left({ _tag: 'NotWaiting', session: this.#session.id, tokens })
    const start = await this.#startOf(id, input, message as unknown as Message | undefined)
    if (isLeft(start)) return start
    if (start.right === undefined)
      return right({ type: 'idle', reason: isOver(this.#session) ? 'end_turn' : 'cancelled' })
    // The loop calls `end` before it emits `run_complete`, so a reader of that event finds the end of the input in the record.
    // `finish` comes later: it awaits the same work, and does it itself for a run that never began.
    const finishing: RunHandler = Object.assign(() => undefined, {
      end: (result: RunResult) => this.#finish(result.stopReason),
    })
    this.#start = { ...start.right, handlers: [...start.right.handlers, finishing] }
    return right({ type: 'begun', input: id })
  }

  /** The start of a run, with the handler that records it. */
  async #startOf(
    id: string | undefined,
    input: Input | undefined,
    message: Message | undefined,
  ): Promise<Either<StartFault, (Start & Required<Pick<Start, 'handlers'>>) | undefined>> {
    const lease = this.#lease as RunLease // it is held
    const start = await startRun(this.#session, lease, this.#context.continuation, { id, input, message })
    if (isLeft(start) || start.right === undefined) return start as Either<StartFault, undefined>
    const { journalEvery, clock } = this.#context.options
    const recording = recordingHandler(this.#session, present({ journalEvery, clock }), lease, id)
    return right({ ...start.right, handlers: [recording] })
  }

  /** The input to continue: taken or waiting, or failed with no later question. */
  #unfinished(): Input | undefined {
    const inputs = inputsIn(this.#session.notes())
    const conversation = this.#session.conversation()
    const at = conversation.positionAt(conversation.toArray().findLastIndex(({ role }) => role === 'user'))
    return (
      inputs.find(({ state }) => state === 'taken') ??
      inputs.find(({ state }) => state === 'waiting') ??
      inputs.find((input) => input.state === 'failed' && input.at === at)
    )
  }

  /** Answers the input of another turn. A run that can't start is handed over, too: it ends with that fault. */
  async #answer(input: Input): Promise<Either<StartFault, TurnEvent>> {
    const start = await this.#startOf(input.id, input, input.message)
    if (isLeft(start) && start.left._tag === 'SessionConflict') return start
    const found = isLeft(start) ? failed(start.left) : (start.right as Start) // an input is always answered
    const { signal: _, ...settings } = this.#context.settings // whoever aborts it means this turn's own input
    const going = launchRun<StartFault>({ ...settings, handlers: [] }, found, turnFaultText)
    this.#going = going
    const { onQueuedRun } = this.#context.options
    void (async () => onQueuedRun?.(going, input.id))() // its errors are the caller's, not the run's
    const ended = await going.result()()
    this.#going = undefined
    if (isLeft(start)) return start
    if (this.#lease?.lost === true) return left(this.#lease.fault)
    return right({ type: 'ran', reason: isLeft(ended) ? 'error' : ended.right.stopReason })
  }

  /** A result without a run: for an input; of a conversation with nothing left to do (`end_turn`); of a turn that was stopped. */
  #over(stopReason: StopReason, input: Input | undefined): NothingToRun {
    const conversation = this.#session.conversation()
    const last = conversation.at(-1)
    const answer = last?.role === 'assistant' ? last : undefined
    const open = stopReason === 'approval' ? waitingStepOf(this.#session, this.#context.continuation, input) : undefined
    const result: RunResult = {
      response: input !== undefined ? answerTo(this.#session, input) : stopReason === 'end_turn' ? answer : undefined,
      steps: Object.freeze([]),
      counts: Object.freeze({ steps: 0, toolCalls: 0, interrupts: 0 }),
      usage: noUsage,
      dollars: 0,
      stopReason,
      messages: conversation.toArray(),
      viewLength: conversation.length,
      ...present({ open }),
    }
    return { over: Object.freeze(result) }
  }
}

/** A run that can't start. */
const failed = (fault: StartFault): RunOwner<StartFault> => ({
  findStart: async () => left(fault),
  finish: async (ended) => ended,
  release: async () => undefined,
})

/** What an attempt to hold the session gives; undefined if the turn is stopped first. */
const unlessStopped = async <T>(control: Control, taking: Promise<T>): Promise<T | undefined> => {
  const stopped = new Promise<undefined>((resolve) => {
    control.onCut = () => control.pending?.stop !== undefined && resolve(undefined)
  })
  try {
    return await Promise.race([taking, stopped])
  } finally {
    control.onCut = undefined
  }
}

const isLost = (
  fault: Extract<RunFailure, { readonly _tag: 'HandlerFailed' }>,
): fault is typeof fault & { readonly cause: LeaseLost } =>
  (fault.cause as { readonly _tag?: unknown } | undefined)?._tag === 'LeaseLost'
