/** The events of an answer as it streams. They carry the content for people; the workflow gets a ref. */
import type { MessageRef } from '../refs/index.ts'
import type { ModelEvent } from 'indelible/run'

/**
 * An event of the stream of one action. Attempts count from 1. A new attempt voids the events of
 * earlier ones, even of one that was given up but is still running. Within an attempt `seq` counts
 * from 0; a gap means that the sink refused an event.
 *
 * `stream_end` is the last event of an action, and comes exactly once: after an answer, a failure,
 * an abort or a retry. An attempt that will be retried has none. It is published before the store
 * notes it, so it is never missing, and comes twice only if the process dies between the two.
 */
export type StreamEvent = {
  /** The id of the action. */
  readonly action: string
  /** The number of the attempt, from 1. */
  readonly attempt: number
  /** The number of the event in the attempt, from 0. */
  readonly seq: number
} & (
  | { readonly type: 'stream_start'; readonly model: string }
  /** Text, reasoning and call arguments, distinguished by `block`. The whole message is the ref at the end. */
  | { readonly type: 'model_event'; readonly event: Exclude<ModelEvent, { readonly type: 'finish' }> }
  /** No ref if the message is empty. */
  | { readonly type: 'stream_end'; readonly outcome: 'answered'; readonly ref?: MessageRef }
  | { readonly type: 'stream_end'; readonly outcome: 'failed'; readonly reason: string }
  | { readonly type: 'stream_end'; readonly outcome: 'cancelled' }
)

/** An event without its action, attempt and number. */
export type UnattributedEvent = StreamEvent extends infer Event
  ? Event extends StreamEvent
    ? Omit<Event, 'action' | 'attempt' | 'seq'>
    : never
  : never

/** Receives the events of answers: a queue, a socket, a log. */
export interface EventSink {
  /**
   * Publish an event. The next one waits for it. A sink that fails does not hold up the answer; the result
   * counts the lost events. Only if the end can't be published does the activity fail, to be retried.
   *
   * @returns nothing, or a promise
   */
  readonly publish: (event: StreamEvent) => Promise<void> | void
}

/** A heartbeat for the engine, without content. */
export interface Heartbeat {
  /** The id of the running action. */
  readonly action: string
  /** How often it has begun, from 1. */
  readonly attempt: number
  /** The number of events that the model has sent. */
  readonly events: number
}
