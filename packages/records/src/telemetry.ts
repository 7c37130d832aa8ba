/** The log fields about the use of the call history, as a plain object and as OpenTelemetry attributes. */
import type { HistoryPattern, HistoryUse } from './history-use.ts'
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

/**
 * Create the log fields of one call: whether its record was appended, and how its code uses the history.
 *
 * @param event the event that `telemetry` received
 * @param use the use that `detectHistoryUse` found; omit it for a call without code
 * @returns the fields, frozen
 * @example
 * createCallLog({ telemetry: (event) => logger.info(historyTelemetry(event, detectHistoryUse(code))) })
 */
export const historyTelemetry = (
  {
    historyRecordAppended,
    conversationHistorySize,
  }: Pick<RecordEvent, 'historyRecordAppended' | 'conversationHistorySize'>,
  use?: Pick<HistoryUse, 'detected' | 'patterns'>,
): HistoryTelemetry =>
  Object.freeze({
    historyRecordAppended,
    conversationHistorySize,
    historyAccessDetected: use?.detected ?? false,
    historyQueryPatterns: use?.patterns ?? Object.freeze([]),
  })

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
