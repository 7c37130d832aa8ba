/**
 * Takes turns on a session: the holder answers waiting inputs in order, then its own.
 * `inputs/input.ts` defines the states of an input, `inputs/decide.ts` the order.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, present, right, type JsonObject } from '../json/index.ts'
import type { Message } from '../message/index.ts'
import type { InputNote } from '../notes/internal.ts'
import type { Decisions } from './open-answer.ts'
import type { LeaseSessionFault, Session, WriteFault } from '../session/index.ts'
import { clockOf, thrownFault, type CallbackThrew, type Clock } from '../task/index.ts'
import type { Control } from './control.ts'
import { turnFaultText, type InputMismatch, type RunFailure, type TurnFault } from './fault.ts'
import type { RunHandler } from './handler.ts'
import { nextOf } from './inputs/decide.ts'
import { answerTo, inputsIn, type Input } from './inputs/input.ts'
import { launchRun, type Begin, type NothingToRun, type RunSettings, type RunStream, type Start } from './launch.ts'
import { noUsage, type RunResult, type StopReason } from './result.ts'
import { acquireRunLease, type LeaseLost, type RunLease, type RunLeaseOptions } from './run-lease.ts'
import { recordingHandler, type SessionHandlerOptions } from './session-handler.ts'
import {
  appendExpected,
  isOver,
  waitingStepOf,
  continueTurn,
  startTurn,
  type Retry,
  type Continuation,
} from './start.ts'

/** Why nothing was started. */
export type StartFault = LeaseSessionFault | InputMismatch | CallbackThrew

/** How a session is held and written to. */
export interface HoldOptions
  extends Pick<SessionHandlerOptions, 'journalEvery'>, Pick<RunLeaseOptions, 'holder' | 'ttl' | 'clock'> {
  /** Called with each run that answers the input of another turn. */
  readonly onQueuedRun?: (run: RunStream<TurnFault>, input: string) => unknown
}

/** Milliseconds between two checks of a session that another process holds. */
const pollMs = 100

/** The maximum number of attempts if writers without a lease keep interfering. */
const mostTries = 100

export class TurnTaking {
  readonly #session: Session
  readonly #settings: RunSettings
  readonly #continuation: Continuation
  readonly #taking: HoldOptions
  readonly #clock: Clock
  readonly #journaling: Pick<SessionHandlerOptions, 'journalEvery' | 'clock'>
  #lease: RunLease | undefined
  /** Of the turn that holds the session. */
  #control: Control | undefined
  #going: Pick<RunStream, 'cancel'> | undefined
  /** The id of the input answered by this turn's run. */
  #input: string | undefined
  /** An attempt to hold the session that was under way when the turn was stopped. */
  #leftTake: Promise<Either<StartFault, undefined>> | undefined
  /** Whether this turn's run has started. */
  #isRunning = false
  #stopped = false
  /** Why the end of this turn's run is not recorded. */
  #notEnded: Either<StartFault, never> | undefined
  #finished: Promise<void> | undefined

  constructor(session: Session, settings: RunSettings, continuation: Continuation, taking: HoldOptions) {
    this.#session = session
    this.#settings = settings
    this.#continuation = continuation
    this.#taking = taking
    this.#clock = clockOf(taking.clock)
    this.#journaling = present({ journalEvery: taking.journalEvery, clock: taking.clock })
  }

  /**
   * Holds the session. Returns undefined once it is held. While another process holds it, `over`
   * checks whether there is still something to wait for.
   *
   * @param wait the maximum milliseconds to wait
   */
  async hold(
    control: Control,
    wait: number,
    over: () => Promise<Either<StartFault, NothingToRun | undefined>> = async () => right(undefined),
  ): Promise<Either<StartFault, NothingToRun | undefined>> {
    const until = this.#clock.now() + wait
    for (;;) {
      if (control.pending?.stop !== undefined) return right(this.over(control.pending.stop))
      const taking = this.take(control, Math.max(0, Math.min(pollMs, until - this.#clock.now())))
      const held = await unlessStopped(control, taking)
      if (held === undefined) {
        this.#leftTake = taking
        continue
      }
      if (!isLeft(held)) return held
      if (held.left._tag !== 'SessionBusy' || this.#clock.now() >= until) return held
      const found = await over()
      if (isLeft(found) || found.right !== undefined) return found
    }
  }

  /** Tries once to hold the session. */
  async take(control: Control, wait: number): Promise<Either<StartFault, undefined>> {
    const before = await this.#leftTake
    this.#leftTake = undefined
    if (before !== undefined && !isLeft(before)) return before
    let earlyStop: string | undefined
    const held = await acquireRunLease(
      this.#session,
      { ...leaseOf(this.#taking), whenBusy: 'wait', wait },
      (reason, isLost) => {
        if (this.#lease === undefined) {
          if (!isLost) earlyStop = reason
          return
        }
        this.#stopped = true
        // A lease lost before the turn's run started is requested again: nothing was cancelled.
        if (this.#going !== undefined) this.#going.cancel()
        else if (this.#isRunning || !isLost) control.cancel(reason, 'saveMarked')
      },
    )
    if (isLeft(held)) return held
    this.#lease = held.right
    this.#control = control
    if (earlyStop !== undefined) {
      this.#stopped = true
      control.cancel(earlyStop)
    }
    return right(undefined)
  }

  /** Starts a run on the session from what `begin` finds. */
  launch(begin: Begin<StartFault>): RunStream<TurnFault> {
    return launchRun<StartFault>(
      this.#settings,
      begin,
      turnFaultText,
      (ended) => this.finish(ended),
      () => this.letGo(),
    )
  }

  get isHeld(): boolean {
    return this.#lease !== undefined
  }

  /** Releases the session without having done anything. */
  async letGo(): Promise<void> {
    await this.#lease?.release()
    this.#lease = undefined
    this.#stopped = false
  }

  /** A result without a run: for an input; of a conversation with nothing left to do (`end_turn`); of a turn that was stopped. */
  over(stopReason: StopReason, input?: Input): NothingToRun {
    const last = this.#session.conversation().at(-1)
    const answer = last?.role === 'assistant' ? last : undefined
    const open = stopReason === 'approval' ? waitingStepOf(this.#session, this.#continuation, input) : undefined
    const result: RunResult = {
      response: input !== undefined ? answerTo(this.#session, input) : stopReason === 'end_turn' ? answer : undefined,
      steps: Object.freeze([]),
      counts: Object.freeze({ steps: 0, toolCalls: 0, interrupts: 0 }),
      usage: noUsage,
      dollars: 0,
      stopReason,
      messages: this.#session.conversation().toArray(),
      viewLength: this.#session.conversation().length,
      ...present({ open }),
    }
    return { over: Object.freeze(result) }
  }

  inputs(): readonly Input[] {
    return inputsIn(this.#session.notes())
  }

  /** The start of an input's run. If its message is in the record, the run continues. */
  begin(input: Input | undefined, said: Message, id: string | undefined): Promise<Either<StartFault, Start | Retry>> {
    const lease = this.#lease as RunLease // it is held
    if (input?.at === undefined) return startTurn(this.#session, lease, said, id)
    // There is an input, so the result is never undefined.
    return continueTurn(this.#session, lease, this.#continuation, input) as Promise<Either<StartFault, Start | Retry>>
  }

  /** The start of a run that continues open work, for the input it belongs to. */
  async again(decisions: Decisions): Promise<Either<StartFault, Start | NothingToRun>> {
    const continuation = { ...this.#continuation, decisions }
    return this.#decided<Start | NothingToRun>(async () => {
      const input = this.#unfinished()
      const start = await continueTurn(this.#session, this.#lease as RunLease, continuation, input) // it is held
      if (isLeft(start) || start.right === 'anew') return start as Either<StartFault, Retry>
      if (start.right === undefined) return right(this.over(isOver(this.#session) ? 'end_turn' : 'cancelled'))
      return right(this.recorded(start.right, input?.id))
    })
  }

  /** The input to continue: taken or waiting, or failed with no later question. */
  #unfinished(): Input | undefined {
    const inputs = this.inputs()
    const conversation = this.#session.conversation()
    const at = conversation.positionAt(conversation.toArray().findLastIndex(({ role }) => role === 'user'))
    return (
      inputs.find(({ state }) => state === 'taken') ??
      inputs.find(({ state }) => state === 'waiting') ??
      inputs.find((input) => input.state === 'failed' && input.at === at)
    )
  }

  /** The start of the turn's run, with the handlers that record it. */
  recorded(start: Start, input: string | undefined): Start {
    this.#input = input
    this.#isRunning = true
    const lease = this.#lease as RunLease // it is held
    const finishing: RunHandler = Object.assign(() => undefined, {
      end: (result: RunResult) => this.#finish(result.stopReason),
    })
    return { ...start, handlers: [recordingHandler(this.#session, this.#journaling, lease, input), finishing] }
  }

  /** Acts on the current record, and again whenever another writer was first: the session then has what that one wrote. */
  async #decided<T>(work: () => Promise<Either<StartFault, T | Retry>>): Promise<Either<StartFault, T>> {
    for (let count = 1; ; count++) {
      const done = await work()
      if (isLeft(done)) return done
      if (done.right !== 'anew') return right(done.right)
      if (count === mostTries) return left({ _tag: 'Busy', waited: 0 })
    }
  }

  /** Answers the input of another turn. A run that can't start is handed over, too: it ends with that fault. */
  async answer(input: Input): Promise<Either<StartFault, Retry | void>> {
    const start = await this.begin(input, input.message as Message, input.id) // an input without a position was queued with its message
    if (!isLeft(start) && start.right === 'anew') return right('anew')
    const handlers = [recordingHandler(this.#session, this.#journaling, this.#lease as RunLease, input.id)]
    const found = isLeft(start) ? async () => start : { ...(start.right as Start), handlers }
    const { signal: _, ...settings } = this.#settings // whoever aborts it means this turn's own input
    const going = launchRun<TurnFault>({ ...settings, handlers: [] }, found, turnFaultText)
    this.#going = going
    const { onQueuedRun } = this.#taking
    void (async () => onQueuedRun?.(going, input.id))() // its errors are the caller's, not the run's
    const ended = await going.result()()
    this.#going = undefined
    if (isLeft(start)) return start
    if (this.#lease?.lost === true) return this.#lease.fault()
    return this.#end(input.id, isLeft(ended) ? 'error' : ended.right.stopReason)
  }

  /** Records how an input's run ended, unless its last append did. A paused one stays taken: the next holder continues it. */
  async #end(id: string, reason: StopReason): Promise<Either<StartFault, void>> {
    if (reason === 'paused') this.#stopped = true
    if (reason === 'paused') return right(undefined)
    return this.#decided<void>(async () => {
      const known = this.inputs().find((input) => input.id === id)
      const state = stateAfter(reason)
      if (known === undefined || (known.state !== 'taken' && !(known.state === 'waiting' && state !== 'waiting')))
        return right(undefined)
      return this.note({ type: 'input', id, state, ...(state === 'answered' && { at: this.#session.len }), reason })
    })
  }

  note(note: InputNote): Promise<Either<WriteFault, Retry | undefined>> {
    return appendExpected(this.#session, this.#lease, { messages: [], notes: [note] })
  }

  queue(id: string, message: Message): Promise<Either<WriteFault, Retry | undefined>> {
    return this.note({ type: 'input', id, state: 'queued', message: message as unknown as JsonObject })
  }

  /**
   * Ends the turn: records the end of its input, answers other inputs in the background, and
   * releases the session. A run that lost its session, or whose end the store did not take, gets that fault instead of
   * `cancelled`: others will answer its input.
   */
  async finish(ended: Either<TurnFault, RunResult>): Promise<Either<TurnFault, RunResult>> {
    await this.#leftTake
    await this.#finish(isLeft(ended) ? 'error' : ended.right.stopReason)
    if (isLeft(ended)) return ended.left._tag === 'HandlerFailed' && isLost(ended.left) ? left(ended.left.cause) : ended
    return this.#notEnded !== undefined && ended.right.stopReason === 'cancelled' ? this.#notEnded : ended
  }

  #finish(reason: StopReason): Promise<void> {
    return (this.#finished ??= this.#finishOnce(reason))
  }

  async #finishOnce(reason: StopReason): Promise<void> {
    const lease = this.#lease
    if (lease === undefined) return
    if (reason === 'paused') this.#stopped = true
    if (lease.lost) this.#notEnded = lease.fault()
    else if (this.#input !== undefined) {
      const noted = await this.#end(this.#input, reason)
      if (isLeft(noted)) this.#notEnded = noted
    }
    await this.#session.refresh()()
    // An input whose end is not recorded would be answered again, although its run has ended.
    if (this.#stopped || this.#notEnded !== undefined || nextOf(this.inputs()) === undefined) return lease.release()
    void this.#drain()
  }

  /** Answers all waiting inputs, including those that arrive meanwhile. */
  async #drain(): Promise<void> {
    const answered = await this.#decided<void>(async () => {
      for (;;) {
        const next = this.#stopped ? undefined : nextOf(this.inputs())
        if (next === undefined) return right(undefined)
        const done = await this.answer(next)
        if (isLeft(done) || done.right === 'anew') return done
      }
    }).catch(thrownFault<StartFault>)
    await this.#lease?.release()
    if (isLeft(answered) || this.#stopped) return
    // An input may have arrived between the last check and the release, from a process that does not wait.
    await this.#session.refresh()()
    if (nextOf(this.inputs()) === undefined) return
    const held = await this.take(this.#control as Control, 0) // it was held
    if (!isLeft(held)) await this.#drain() // otherwise the new holder answers them
  }
}

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

/** The state of an input after its run. A run ended by the application's `stopWhen` counts as answered. */
const stateAfter = (reason: StopReason): 'answered' | 'waiting' | 'failed' | 'cancelled' => {
  if (reason === 'end_turn' || reason === 'custom') return 'answered'
  if (reason === 'approval') return 'waiting'
  return reason === 'cancelled' ? 'cancelled' : 'failed'
}

const isLost = (
  fault: Extract<RunFailure, { readonly _tag: 'HandlerFailed' }>,
): fault is typeof fault & { readonly cause: LeaseLost } =>
  (fault.cause as { readonly _tag?: unknown } | undefined)?._tag === 'LeaseLost'

const leaseOf = ({ holder, ttl, clock }: HoldOptions): RunLeaseOptions => present({ holder, ttl, clock })
