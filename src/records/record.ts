/**
 * Call records: what a runtime that executes calls (tools, generated code, other agents) keeps of each, for code and
 * prompts to read. One call, one record, appended when the call has ended.
 *
 * Source  kulesh/recurgent, ADR 0019 and its plan (2026-02), whose keys are in snake_case: see `normalizeRecords`
 */
import type { Json, JsonArray, JsonObject } from '../json/index.ts'

/** Who asked for the call: a person, the model's own code, or a tool that was called itself. */
export type Speaker = 'user' | 'agent' | 'tool'

export interface CallRecord {
  readonly callId: string
  /** When the call ended: ISO 8601, UTC, milliseconds. */
  readonly timestamp: string
  readonly speaker: Speaker
  readonly methodName: string
  readonly args: JsonArray
  readonly kwargs: JsonObject
  readonly outcomeSummary: OutcomeSummary

  readonly traceId?: string
  /** The call that this one was made in. Its record comes later: it ends later. */
  readonly parentCallId?: string
  /** How many calls this one was made in. */
  readonly depth?: number
  readonly startedAt?: string
  readonly durationMs?: number
  readonly errorType?: string
  readonly errorMessage?: string
  /** The code that was executed. */
  readonly programSource?: string
  /** Whether the code came from a cache and was not generated for this call. */
  readonly artifactHit?: boolean
  /** Where a content store keeps the whole value. */
  readonly contentRef?: string

  /** Fields of an application's own, or of a later version. */
  readonly [field: string]: Json | OutcomeSummary | undefined
}

/** How a call ended. The value itself is not here. */
export interface OutcomeSummary {
  /** `ok`, `error`, `timeout`, `aborted`, `unknown`, or an application's own word. */
  readonly status: string
  readonly ok: boolean
  /** What kind of failure it was: the name of the error, the tag of a fault. `null` where there was none. */
  readonly errorType: string | null
  /** Whether the same call may succeed when it is made again. */
  readonly retriable: boolean
  /** What kind of value there was: `string`, `Array`, the name of a class. */
  readonly valueClass?: string

  readonly [field: string]: Json | undefined
}

/** Every speaker. */
export const speakers: readonly Speaker[] = Object.freeze(['user', 'agent', 'tool'] as const)

/** The fields that this version knows. */
export const fieldNames: ReadonlySet<string> = new Set([
  'callId',
  'timestamp',
  'speaker',
  'methodName',
  'args',
  'kwargs',
  'outcomeSummary',
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

/** A time as records write it. Throws RangeError, if the number is none. */
export const isoTime = (milliseconds: number): string => new Date(milliseconds).toISOString()
