export { recordCall, startCall, type FinishResult, type StartedCall } from './call.ts'
export { createContentStore, type ContentStore, type ContentStoreOptions } from './content.ts'
export {
  encodeValue,
  redactedText,
  type EncodedValue,
  type EncodeLimits,
  type EncodeOptions,
  type Redact,
} from './encode.ts'
export {
  detectHistoryUse,
  type HistoryEvidence,
  type HistoryPattern,
  type HistoryUse,
  type HistoryUseOptions,
} from './history-use.ts'
export { createCallLog } from './create-log.ts'
export type { CallLogOptions, CallScope, RecordEvent } from './log.ts'
export { normalizeRecords, type NormalizedEntry, type NormalizedRecords, type NormalizeReport } from './normalize.ts'
export { historyGuidance, previewRecords, type PreviewOptions } from './preview.ts'
export type { CallRecord, OutcomeSummary, Speaker } from './record.ts'
export { summarizeHistoryUse, type HistoryUsage, type UsageEvidence } from './usage.ts'
export { openCallLog, type OpenCallLogFault, type StoredCallLog, type StoredCallLogOptions } from './stored-log.ts'
export {
  historyAttributes,
  historyTelemetry,
  type HistoryAttributes,
  type HistoryTelemetry,
  type SnakeCaseHistoryTelemetry,
} from './telemetry.ts'
export { recordsToJson, type KeyCase, type KeyOptions } from './keys.ts'
export { contentFaultMessage, type ContentFault, type ContentFaultOf } from './fault.ts'
export type { Call, CallContext, Outcome, Signal } from './call-context.ts'
