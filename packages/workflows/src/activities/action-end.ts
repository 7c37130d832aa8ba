/**
 * Publishes the single end of an action's stream. It is published before it is noted: a crash
 * between the two causes a second end, never a missing one. So it is also published if the store
 * can't report whether it was, or can't take the note.
 */
import { reasonOf as causeText } from 'indelible/internal/task'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft } from 'indelible/internal/json'
import { endStream, recordFailure, type Actions, type KnownAction } from './actions.ts'
import type { StreamEvent, UnattributedEvent } from './event.ts'
import { ActivityFailed, faultOf } from './activity-errors.ts'
import { failureNote, isRetryable } from './failure.ts'
import type { ActivityFault, FailureNote } from './fault.ts'
import type { Host, Invocation } from './host.ts'
import type { StreamResult } from './input.ts'
import { publish } from './sink.ts'

type EndEvent = Extract<UnattributedEvent, { readonly type: 'stream_end' }>

export class ActionEnd {
  readonly #host: Host
  readonly #action: string
  readonly #actions: Actions

  constructor(host: Host, action: string, actions: Actions) {
    this.#host = host
    this.#action = action
    this.#actions = actions
  }

  /** Throws ActivityFailed with `Unpublished`. */
  ofAnswer({ ref }: Pick<StreamResult, 'ref'>, attempt: number, seq: () => number): Promise<void> {
    return this.tell({ type: 'stream_end', outcome: 'answered', ...(ref !== undefined && { ref }) }, attempt, seq)
  }

  /**
   * A permanent failure ends the stream. A retryable one ends it only if the host says that this was the
   * last attempt. No fault means cancelled. If publishing the end fails too, the first failure counts.
   */
  async ofFailure(
    fault: ActivityFault | undefined,
    { last }: Invocation,
    attempt: number,
    seq: () => number,
  ): Promise<void> {
    if (fault !== undefined && hasOtherEnd(fault)) return
    try {
      const failure = fault && failureNote(fault)
      const isLast = (typeof last === 'function' ? last() : last) ?? fault === undefined
      if ((fault === undefined || isRetryable(fault)) && !isLast) {
        if (failure !== undefined)
          await this.#ifAnswered(this.#actions.note(this.#action, recordFailure(attempt, failure)))
        return
      }
      await this.tell(
        fault === undefined
          ? { type: 'stream_end', outcome: 'cancelled' }
          : { type: 'stream_end', outcome: 'failed', reason: reasonFor(fault) },
        attempt,
        seq,
        failure,
      )
    } catch (second) {
      this.#host.failed(faultOf(second))
    }
  }

  /** Ends of one action are published one at a time within a process, so the second sees the note of the first. */
  async tell(end: EndEvent, attempt: number, seq: () => number, failure?: FailureNote): Promise<void> {
    const { telling } = this.#host
    const tell = (): Promise<void> => this.#tell(end, attempt, seq, failure)
    const mine = (telling.get(this.#action) ?? Promise.resolve()).then(tell, tell)
    telling.set(this.#action, mine)
    try {
      await mine
    } finally {
      if (telling.get(this.#action) === mine) telling.delete(this.#action)
    }
  }

  /** A superseded attempt publishes nothing: the later attempt will. */
  async #tell(end: EndEvent, attempt: number, seq: () => number, failure?: FailureNote): Promise<void> {
    const known = await this.#ifAnswered(this.#actions.find(this.#action))
    if (known?.ended === true || (known !== undefined && known.attempt > attempt)) return
    try {
      await publish(
        this.#host.events,
        { action: this.#action, attempt, seq: seq(), ...end } as StreamEvent,
        this.#host.publishWithin,
      )
    } catch (cause) {
      throw new ActivityFailed({ _tag: 'Unpublished', action: this.#action, event: end.type, cause })
    }
    await this.#ifAnswered(this.#actions.note(this.#action, endStream(attempt, failure)))
  }

  async #ifAnswered(known: Promise<Either<ActivityFault, KnownAction | undefined>>): Promise<KnownAction | undefined> {
    const answer = await known
    if (!isLeft(answer)) return answer.right
    this.#host.failed(answer.left)
    return undefined
  }
}

/** Whether the action's end is published by something else than this attempt. */
const hasOtherEnd = ({ _tag }: ActivityFault): boolean =>
  _tag === 'OtherAction' || _tag === 'ActionEnded' || _tag === 'FailedBefore' || _tag === 'Superseded'

/** The reason of a failure as published to readers. */
const reasonFor = (fault: ActivityFault): string => {
  if (fault._tag === 'Unexpected') return causeText(fault.cause)
  return 'reason' in fault ? fault.reason : failureNote(fault).message
}
