/** A call to make, and the context that its body receives. */
import type { SignalLike } from 'indelible/internal/task'
import type { OutcomeSummary, Speaker } from './record.ts'

/** The current call, as its body receives it. */
export interface CallContext {
  /** The id of the call. */
  readonly callId: string
  /** The id of the trace, if there is one. */
  readonly traceId?: string
  /** The number of calls around this one. */
  readonly depth: number
  /** The signal of the call, if it has one. */
  readonly signal?: Signal
  /**
   * Record a call inside this one, in the same log.
   *
   * @returns what the body returns
   */
  readonly recordCall: <T>(
    call: Omit<Call<T>, 'parent'>,
    body: (context: CallContext) => T | PromiseLike<T>,
  ) => Promise<T>
}

/** The part of an `AbortSignal` that a call uses. */
export type Signal = SignalLike

/** A call to make. Nothing in it has to be JSON. */
export interface Call<T = unknown> {
  /** The name of the method, tool or function. The record keeps 200 characters of it. */
  readonly methodName: string
  /** The arguments, in order. Default: none. */
  readonly args?: readonly unknown[]
  /** The named arguments. Default: none. */
  readonly kwargs?: { readonly [name: string]: unknown }
  /** The speaker that asks for the call. Default: `user`, or `tool` for a call inside another. */
  readonly speaker?: Speaker
  /**
   * The id of the call. Default: a new one. If a call with this id has succeeded, the new one is
   * not recorded; if it failed, the new call is recorded as a retry (`retryOf`).
   */
  readonly callId?: string
  /** The parent call. Default: the current call of the log's scope, if any. */
  readonly parent?: CallContext
  /** The id of the trace. Default: that of the parent. */
  readonly traceId?: string
  /** The code that the call executes. The record keeps 100,000 characters of it. */
  readonly programSource?: string
  /** Whether the code came from a cache. */
  readonly artifactHit?: boolean
  /** Your own fields for the record. They never replace the record's own. */
  readonly fields?: { readonly [name: string]: unknown }
  /**
   * Ends the call when it aborts, even if the body continues: as `timeout` if the reason is a TimeoutError. The caller,
   * or the reader of a returned stream, gets the reason.
   */
  readonly signal?: Signal
  /**
   * Summarizes a returned value, if the method returns failures as values. Its fields replace those of the summary.
   * Default: every returned value is a success. If it throws, the status is `unknown`, and telemetry gets the error.
   */
  readonly summarize?: (value: T) => Partial<OutcomeSummary> & { readonly errorMessage?: string }
  /**
   * Whether the same call may succeed if retried after an error. Default: true if the error has `retriable: true`.
   *
   * @returns true if it may
   */
  readonly retriable?: (error: unknown) => boolean
}

/** How a call ended: with a value, or with a thrown error (which may be `undefined`). */
export type Outcome<T = unknown> = { readonly value: T } | { readonly error: unknown }
