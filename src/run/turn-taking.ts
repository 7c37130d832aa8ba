/**
 * One at a time on a session: whoever holds it answers the inputs that wait, in order, then its own. What a holder that died
 * had taken up is gone on with first.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, right } from '../json/index.ts'
import type { PairingFault } from '../message/fault.ts'
import type { Message } from '../message/index.ts'
import type { InputNote } from '../notes/index.ts'
import type { Decisions } from './open-answer.ts'
import type { LeaseSessionFault, Session } from '../session/index.ts'
import type { Control } from './control.ts'
import { turnFaultText } from './fault.ts'
import type { RunHandler } from './handler.ts'
import { answerTo, inputsIn, type Input } from './inputs.ts'
import { launched, type Over, type RunSettings, type RunStream, type Start } from './launch.ts'
import { noUsage, type RunResult, type StopReason } from './result.ts'
import { heldBy, type RunLease, type RunLeaseOptions } from './run-lease.ts'
import { recordingUnder, type SessionHandlerOptions } from './session-handler.ts'
import { noted, startAgain, startTurn, type Continuation } from './starting.ts'

/** Why nothing was begun. */
export type StartFault = LeaseSessionFault | PairingFault

/** How a session is held and written to. */
export interface Taking extends Pick<SessionHandlerOptions, 'journalEvery'>, Pick<RunLeaseOptions, 'holder' | 'ttl'> {}

/** Milliseconds between two looks at a session that somebody else holds. */
const glance = 100

export class TurnTaking {
  readonly #session: Session
  readonly #settings: RunSettings
  readonly #continuation: Continuation
  readonly #taking: Taking
  #lease: RunLease | undefined
  #going: Pick<RunStream, 'cancel'> | undefined
  #stopped = false
  #finished: Promise<void> | undefined

  constructor(session: Session, settings: RunSettings, continuation: Continuation, taking: Taking) {
    this.#session = session
    this.#settings = settings
    this.#continuation = continuation
    this.#taking = taking
  }

  /**
   * Hold the session. `undefined`: it is held. While somebody else holds it, `over` is asked whether there is anything left
   * to wait for.
   *
   * @param wait milliseconds to wait at most
   */
  async hold(
    control: Control,
    wait: number,
    over: () => Promise<Either<StartFault, Over | undefined>> = async () => right(undefined),
  ): Promise<Either<StartFault, Over | undefined>> {
    const until = performance.now() + wait
    for (;;) {
      if (control.pending?.stop !== undefined) return right(this.over('cancelled'))
      const held = await heldBy(
        this.#session,
        {
          ...leaseOf(this.#taking),
          whenBusy: 'wait',
          wait: Math.max(0, Math.min(glance, until - performance.now())),
        },
        (reason) => {
          if (this.#lease === undefined) return
          this.#stopped = true
          if (this.#going === undefined)
            control.interrupt({ behavior: 'saveMarked', message: undefined, reason, stop: 'cancelled' })
          else this.#going.cancel()
        },
      )
      if (!isLeft(held)) {
        this.#lease = held.right
        return right(undefined)
      }
      if (held.left._tag !== 'SessionBusy' || performance.now() >= until) return held
      const found = await over()
      if (isLeft(found) || found.right !== undefined) return found
    }
  }

  /** Give the session back without having done anything. */
  async letGo(): Promise<void> {
    await this.#lease?.release()
    this.#lease = undefined
    this.#stopped = false
  }

  /** A result without a run. */
  over(stopReason: StopReason, input?: Input): Over {
    const last = this.#session.conversation().at(-1)
    const result: RunResult = {
      response: input === undefined ? (last?.role === 'assistant' ? last : undefined) : answerTo(this.#session, input),
      steps: Object.freeze([]),
      counts: Object.freeze({ steps: 0, toolCalls: 0, interrupts: 0 }),
      usage: noUsage,
      dollars: 0,
      stopReason,
      messages: this.#session.conversation().toArray(),
    }
    return { over: Object.freeze(result) }
  }

  /** The inputs that somebody has to answer, in order: those that a dead holder had taken up are among them. */
  waiting(): readonly Input[] {
    return inputsIn(this.#session.notes()).filter(({ state }) => state !== 'done')
  }

  /** The start of a turn. */
  first(said: Message, notes: (at: number) => readonly InputNote[]): ReturnType<typeof startTurn> {
    return startTurn(this.#session, this.#lease as RunLease, [said], notes) // it is held
  }

  /** The start of a run that goes on. */
  again(decisions: Decisions = {}): ReturnType<typeof startAgain> {
    return startAgain(this.#session, this.#lease as RunLease, { ...this.#continuation, decisions }) // it is held
  }

  /** The start of a run, with what records it. */
  recorded(start: Start): Start {
    const lease = this.#lease as RunLease // it is held
    const finishing: RunHandler = Object.assign(() => undefined, {
      end: (result: RunResult) => this.finish(result.stopReason),
    })
    return { ...start, handlers: [recordingUnder(this.#session, this.#taking.journalEvery, lease), finishing] }
  }

  /** Answer the inputs before one, or all. */
  async answerWaiting(control: Control | undefined, until?: string): Promise<Either<StartFault, void>> {
    for (;;) {
      const [next] = this.waiting()
      if (next === undefined || next.id === until || this.#stopped || control?.pending?.stop !== undefined)
        return right(undefined)
      const answered = await this.#answer(next)
      if (isLeft(answered)) return answered
    }
  }

  async #answer(input: Input): Promise<Either<StartFault, void>> {
    const start =
      input.state === 'taken' || input.message === undefined
        ? await this.again()
        : await this.first(input.message, (at) => [{ type: 'input', id: input.id, state: 'taken', at }])
    if (isLeft(start)) return start
    let reason: StopReason = 'end_turn'
    if (start.right !== undefined) {
      const lease = this.#lease as RunLease
      const handlers = [recordingUnder(this.#session, this.#taking.journalEvery, lease)]
      const going = launched<never>({ ...this.#settings, handlers: [] }, { ...start.right, handlers }, turnFaultText)
      this.#going = going
      const ended = await going.result()()
      this.#going = undefined
      reason = isLeft(ended) ? 'error' : ended.right.stopReason
      // The store or another holder: nothing can be written down.
      if (isLeft(ended) && ended.left._tag === 'HandlerFailed')
        return ended.left.cause === undefined ? right(undefined) : this.#lost(ended.left.cause)
    }
    return this.#done(input.id, reason)
  }

  #done(id: string, reason: StopReason): Promise<Either<StartFault, void>> {
    return noted(this.#session, { type: 'input', id, state: 'done', at: this.#session.len, reason }, this.#lease)
  }

  #lost(cause: unknown): Either<StartFault, void> {
    this.#stopped = true
    return { _tag: 'Left', left: cause as StartFault } // what `recordingUnder` answers
  }

  /** The run is over: its input is done, others are answered in the background, and the session is given back. */
  finish(reason: StopReason): Promise<void> {
    return (this.#finished ??= this.#finish(reason))
  }

  async #finish(reason: StopReason): Promise<void> {
    if (this.#lease === undefined) return
    for (const { id, state } of this.waiting())
      if (state === 'taken' && reason !== 'queued') await this.#done(id, reason)
    await this.#session.refresh()()
    if (this.#stopped || this.waiting().length === 0) return this.#lease.release()
    void this.#drain(this.#lease)
  }

  async #drain(lease: RunLease): Promise<void> {
    const answered = await this.answerWaiting(undefined)
    await lease.release()
    if (isLeft(answered) || this.#stopped) return
    // One that came between the last look and the release, from somebody who does not wait.
    await this.#session.refresh()()
    if (this.waiting().length === 0) return
    const held = await heldBy(this.#session, leaseOf(this.#taking), () => {
      this.#stopped = true
      this.#going?.cancel()
    })
    if (isLeft(held) || held.right === undefined) return // its holder answers them
    this.#lease = held.right
    await this.#drain(held.right)
  }
}

const leaseOf = ({ holder, ttl }: Taking): RunLeaseOptions => ({
  ...(holder !== undefined && { holder }),
  ...(ttl !== undefined && { ttl }),
})
