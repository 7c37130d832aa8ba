/** The log fields about the use of the call history, as a plain object and as OpenTelemetry attributes. */
import { detectHistoryUse, type HistoryPattern, type HistoryUse } from './history-use.ts'
import { keysOf, type KeyOptions } from './keys.ts'
import type { RecordEvent } from './log.ts'

/**
 * The log fields of one call.
 *
 * Source  kulesh/recurgent, `docs/observability.md` (2026-02): the same fields in snake_case
 */
export interface HistoryTelemetry {
  /** Whether the record of the call was appended. */
  readonly historyRecordAppended: boolean
  /** The number of records in the log. */
  readonly conversationHistorySize: number
  /** Whether the code of the call uses the history. */
  readonly historyAccessDetected: boolean
  /** The patterns of use, in the order of `historyPatterns`. */
  readonly historyQueryPatterns: readonly HistoryPattern[]
}

/** The same fields with keys in snake_case. */
export interface SnakeCaseHistoryTelemetry {
  /** Whether the record of the call was appended. */
  readonly history_record_appended: boolean
  /** The number of records in the log. */
  readonly conversation_history_size: number
  /** Whether the code of the call uses the history. */
  readonly history_access_detected: boolean
  /** The patterns of use, in the order of `historyPatterns`. */
  readonly history_query_patterns: readonly HistoryPattern[]
}

/**
 * Create the log fields of one call: whether its record was appended, and how its code uses the history.
 *
 * @param event the event that `telemetry` received
 * @param use the use that `detectHistoryUse` found. Default: that in the `programSource` of the event's record
 * @param options `keys`: `camelCase` (default) or `snake_case`
 * @returns the fields, frozen
 * @example
 * createCallLog({ telemetry: (event) => logger.info(historyTelemetry(event)) })
 */
export function historyTelemetry(
  event: Pick<RecordEvent, 'historyRecordAppended' | 'conversationHistorySize' | 'record'>,
  use: Pick<HistoryUse, 'detected' | 'patterns'> | undefined,
  options: { readonly keys: 'snake_case' },
): SnakeCaseHistoryTelemetry
export function historyTelemetry(
  event: Pick<RecordEvent, 'historyRecordAppended' | 'conversationHistorySize' | 'record'>,
  use?: Pick<HistoryUse, 'detected' | 'patterns'>,
  options?: { readonly keys?: 'camelCase' },
): HistoryTelemetry
export function historyTelemetry(
  event: Pick<RecordEvent, 'historyRecordAppended' | 'conversationHistorySize' | 'record'>,
  use?: Pick<HistoryUse, 'detected' | 'patterns'>,
  options: KeyOptions = {},
): HistoryTelemetry | SnakeCaseHistoryTelemetry {
  const keys = keysOf('historyTelemetry', options)
  const { historyRecordAppended, conversationHistorySize, record } = event
  const source = record?.programSource
  const found = use ?? (source === undefined ? undefined : detectHistoryUse(source))
  const fields = Object.freeze({
    historyRecordAppended,
    conversationHistorySize,
    historyAccessDetected: found?.detected ?? false,
    historyQueryPatterns: found?.patterns ?? Object.freeze([]),
  })
  return keys === 'camelCase'
    ? fields
    : Object.freeze({
        history_record_appended: fields.historyRecordAppended,
        conversation_history_size: fields.conversationHistorySize,
        history_access_detected: fields.historyAccessDetected,
        history_query_patterns: fields.historyQueryPatterns,
      })
}

/** The attributes of a span, named as OpenTelemetry does: with a namespace, dots and snake_case. */
export interface HistoryAttributes {
  /** Whether the record of the call was appended. */
  readonly 'indelible.history.record_appended': boolean
  /** The number of records in the log. */
  readonly 'indelible.history.size': number
  /** Whether the code of the call uses the history. */
  readonly 'indelible.history.access_detected': boolean
  /** The patterns of use. */
  readonly 'indelible.history.query_patterns': string[]
}

/**
 * Convert the fields to attributes of an OpenTelemetry span.
 *
 * @param fields the fields of `historyTelemetry`
 * @example
 * span.setAttributes(historyAttributes(fields))
 *
 * Source  OpenTelemetry, "Attribute naming" of the semantic conventions
 */
export const historyAttributes = (fields: HistoryTelemetry): HistoryAttributes => ({
  'indelible.history.record_appended': fields.historyRecordAppended,
  'indelible.history.size': fields.conversationHistorySize,
  'indelible.history.access_detected': fields.historyAccessDetected,
  'indelible.history.query_patterns': [...fields.historyQueryPatterns],
})
