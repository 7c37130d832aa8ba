/** What is told of an answer while it comes: for whoever looks on. Here is the content; the workflow gets a ref. */
import type { MessageRef } from '../refs/index.ts'
import type { ModelEvent } from 'indelible/run'

/**
 * An event of the stream of one action. Attempts count from 1. A new attempt makes the events of earlier ones void,
 * also those of an attempt that was given up and still runs. Within an attempt `seq` counts from 0; the sink refused
 * any that is missing.
 *
 * `stream_end` is the last event of an action, and comes exactly once: after an answer, a failure, an abort or a retry.
 * An attempt that will be retried has none. It is published before the store notes it, so it comes twice only if the
 * process dies between the two, and it never fails to come.
 */
export type StreamEvent = {
  /** The id of the action. */
  readonly action: string
  /** How often the action has begun, from 1. */
  readonly attempt: number
  /** Counts the events of the attempt, from 0. */
  readonly seq: number
} & (
  | { readonly type: 'stream_start'; readonly model: string }
  /** Text, reasoning and arguments of calls, told apart by `block`. The whole message is told by its ref, at the end. */
  | { readonly type: 'model_event'; readonly event: Exclude<ModelEvent, { readonly type: 'finish' }> }
  /** Without a ref, if the model had nothing to say. */
  | { readonly type: 'stream_end'; readonly outcome: 'answered'; readonly ref?: MessageRef }
  | { readonly type: 'stream_end'; readonly outcome: 'failed'; readonly reason: string }
  | { readonly type: 'stream_end'; readonly outcome: 'cancelled' }
)

/** Receives the events of answers: a queue, a socket, a log. */
export interface EventSink {
  /**
   * Publish an event. The next one waits for it. A sink that fails does not hold up the answer; the result counts the
   * lost events. Only if the end can't be published, the activity fails, and is retried.
   *
   * @returns nothing, or a promise
   */
  readonly publish: (event: StreamEvent) => Promise<void> | void
}

/** A sign of life for the engine. It never has content. */
export interface Heartbeat {
  /** The id of the running action. */
  readonly action: string
  /** How often it has begun, from 1. */
  readonly attempt: number
  /** The number of events that the model has sent. */
  readonly events: number
}
