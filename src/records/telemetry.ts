/** The log fields that say how the history of calls is used, as a plain object and as OpenTelemetry attributes. */
import type { HistoryPattern, HistoryUse } from './history-use/index.ts'
import type { RecordEvent } from './log.ts'

/**
 * Source  kulesh/recurgent, `docs/observability.md` (2026-02): the same fields in snake_case
 */
export interface HistoryTelemetry {
  readonly historyRecordAppended: boolean
  readonly conversationHistorySize: number
  readonly historyAccessDetected: boolean
  readonly historyQueryPatterns: readonly HistoryPattern[]
}

/**
 * The fields of one call: what became of its record, and how its code uses the history. A call without code of its own
 * uses none.
 *
 * @example
 * createCallLog({ telemetry: (event) => logger.info(historyTelemetry(event, detectHistoryUse(code))) })
 */
export const historyTelemetry = (
  { historyRecordAppended, conversationHistorySize }: Pick<RecordEvent, 'historyRecordAppended' | 'conversationHistorySize'>,
  use?: Pick<HistoryUse, 'detected' | 'patterns'>,
): HistoryTelemetry =>
  Object.freeze({
    historyRecordAppended,
    conversationHistorySize,
    historyAccessDetected: use?.detected ?? false,
    historyQueryPatterns: use?.patterns ?? Object.freeze([]),
  })

/** The attributes of a span. They have a namespace, dots and snake_case, as OpenTelemetry names things. */
export interface HistoryAttributes {
  readonly 'indelible.history.record_appended': boolean
  readonly 'indelible.history.size': number
  readonly 'indelible.history.access_detected': boolean
  readonly 'indelible.history.query_patterns': string[]
}

/**
 * The same as attributes of an OpenTelemetry span: `span.setAttributes(historyAttributes(fields))`.
 *
 * Source  OpenTelemetry, "Attribute naming" of the semantic conventions
 */
export const historyAttributes = (fields: HistoryTelemetry): HistoryAttributes => ({
  'indelible.history.record_appended': fields.historyRecordAppended,
  'indelible.history.size': fields.conversationHistorySize,
  'indelible.history.access_detected': fields.historyAccessDetected,
  'indelible.history.query_patterns': [...fields.historyQueryPatterns],
})
