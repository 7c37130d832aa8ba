export { recordCall, startCall, type StartedCall } from './call.ts'
export { createContentStore, type ContentStore } from './content.ts'
export { encodeValue, redactedText, type EncodedValue, type EncodeOptions } from './encode.ts'
export { detectHistoryUse, type HistoryUse } from './history-use.ts'
export { createCallLog } from './create-log.ts'
export type { CallLogOptions, RecordEvent } from './log.ts'
export { normalizeRecords, type NormalizedRecords } from './normalize.ts'
export { historyGuidance, previewRecords } from './preview.ts'
export type { CallRecord } from './record.ts'
export { summarizeHistoryUse, type HistoryUsage } from './usage.ts'
export { openCallLog, type OpenCallLogFault, type StoredCallLog } from './stored-log.ts'
export {
  historyAttributes,
  historyTelemetry,
  type HistoryAttributes,
  type HistoryTelemetry,
  type SnakeCaseHistoryTelemetry,
} from './telemetry.ts'
export { recordsToJson } from './keys.ts'
export { contentFaultMessage, type ContentFault } from './fault.ts'
export type { Call, CallContext } from './call-context.ts'
