/**
 * Call records: what a runtime that executes calls (tools, generated code, other agents) records about
 * each call, for code and prompts to read. Each call has one record, appended when the call has ended.
 *
 * Source  kulesh/recurgent, ADR 0019 and its plan (2026-02), whose keys are in snake_case: see `normalizeRecords`
 */
import type { Json, JsonArray, JsonObject } from 'indelible/internal/json'

/** Who asked for the call: a person, the model's own code, or a tool that was itself called. */
export type Speaker = 'user' | 'agent' | 'tool'

/** The record of one call. Fields without a question mark are always present. */
export interface CallRecord {
  /**
   * The id of the call. Of the calls recorded through one log no two have the same. Two processes that write one stored
   * log can record an id twice if it is the caller's own, or from a `newId` that is not unique.
   */
  readonly callId: string
  /** When the call ended: ISO 8601, UTC, milliseconds. */
  readonly timestamp: string
  /** Who asked for the call. */
  readonly speaker: Speaker
  /** The name of the method, tool or function. */
  readonly methodName: string
  /** The arguments, in order, as of the start of the call. */
  readonly args: JsonArray
  /** The named arguments. */
  readonly kwargs: JsonObject
  /** How the call ended. */
  readonly outcomeSummary: OutcomeSummary

  /** For a retry after a failure: the id that the caller gave to both calls. Its own is that id with `#2`, `#3`, … */
  readonly retryOf?: string
  /** The id of the trace. */
  readonly traceId?: string
  /** The id of the call that made this one. Its record comes later, because it ends later. */
  readonly parentCallId?: string
  /** The number of calls around this one. */
  readonly depth?: number
  /** When the call began: ISO 8601, UTC, milliseconds. */
  readonly startedAt?: string
  /** How long the call took, in milliseconds. */
  readonly durationMs?: number
  /** The name of the error, the tag of the fault or the type of the thrown value. */
  readonly errorType?: string
  /** The message of the error; the JSON text of a thrown object without a message. */
  readonly errorMessage?: string
  /** The code that was executed. */
  readonly programSource?: string
  /** Whether the code came from a cache rather than being generated for this call. */
  readonly artifactHit?: boolean
  /** The reference to the whole value in a content store. */
  readonly contentRef?: string

  /** Fields of the application, or of a later version. */
  readonly [field: string]: Json | OutcomeSummary | undefined
}

/** The part of a record that is known when the call begins. */
export interface BegunRecord {
  readonly callId: string
  readonly speaker: Speaker
  readonly methodName: string
  readonly args: JsonArray
  readonly kwargs: JsonObject
  readonly retryOf?: string
  readonly traceId?: string
  readonly parentCallId?: string
  readonly depth: number
  readonly startedAt: string
  readonly programSource?: string
  readonly artifactHit?: boolean

  readonly [field: string]: Json | undefined
}

/** How a call ended, without the value. */
export interface OutcomeSummary {
  /** `ok`, `error`, `timeout`, `aborted`, `interrupted` (the process ended first), `unknown`, or a word of your own. */
  readonly status: string
  /** Whether the call succeeded. */
  readonly ok: boolean
  /** The kind of the failure: the name of an error, the tag of a fault; `null` if there was none. */
  readonly errorType: string | null
  /** Whether the same call may succeed if retried. */
  readonly retriable: boolean
  /** The class of the value: `string`, `Array`, or a class name. */
  readonly valueClass?: string

  /** Fields from `summarize`. */
  readonly [field: string]: Json | undefined
}

export const speakers: readonly Speaker[] = Object.freeze(['user', 'agent', 'tool'] as const)

export const fieldNames: ReadonlySet<string> = new Set([
  'callId',
  'timestamp',
  'speaker',
  'methodName',
  'args',
  'kwargs',
  'outcomeSummary',
  'retryOf',
  'traceId',
  'parentCallId',
  'depth',
  'startedAt',
  'durationMs',
  'errorType',
  'errorMessage',
  'programSource',
  'artifactHit',
  'contentRef',
])

/** A time in the format of records. Throws RangeError if the number is not a time. */
export const isoTime = (milliseconds: number): string => new Date(milliseconds).toISOString()
