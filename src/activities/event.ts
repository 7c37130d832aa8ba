/** What is told of an answer while it comes: for whoever looks on. Here is the content; the workflow gets a ref. */
import type { MessageRef } from '../refs/index.ts'
import type { ModelEvent } from '../run/index.ts'

/**
 * An event of the stream of one action. Attempts count from 1 and begin anew: what an earlier one has told is void, also
 * what one tells that was given up and does not know it yet. Within an attempt `seq` counts from 0; one that is missing was
 * not taken by the sink.
 *
 * `stream_end` is the last of an action, and there is exactly one, whatever happens: an answer, a failure, an abort, a
 * retry. An attempt that will be tried again tells none. It is told before the store notes it, so a process that dies
 * between the two is the one case in which it comes again, by a later attempt, and none in which it never comes.
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

/** Where events go: a queue, a socket, a log. */
export interface EventSink {
  /**
   * Each event is waited for before the next is told. A sink that fails holds no answer up: what is lost of it is
   * counted in the result. Only for the end it counts: if that can't be told, the activity fails, to be tried again.
   */
  readonly publish: (event: StreamEvent) => Promise<void> | void
}

/** A sign of life for the engine. It never holds content. */
export interface Heartbeat {
  /** The action that is at work. */
  readonly action: string
  /** How often it has begun, from 1. */
  readonly attempt: number
  /** How many events the model has sent. */
  readonly events: number
}
