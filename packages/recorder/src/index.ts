export type { RecordedApi } from './apis/index.ts'
export { recordingFetch, type Fetch, type RecordingFetch, type RecordingFetchOptions } from './fetch.ts'
export {
  detailsOf,
  sentEntries,
  sentMessages,
  type CacheBreak,
  type CallDetails,
  type Sent,
  type SentEntries,
} from './receipt.ts'
export type { ObservedCall } from './observed-call.ts'
export { createRecorder, type Recorder, type RecorderNotice, type RecorderOptions } from './recorder.ts'
export type { RecorderSummary } from './summary.ts'
export { carriesConversation, type ObservedRequest } from './wire.ts'
