export { recordingFetch, type Fetch, type RecordingFetch, type RecordingFetchOptions } from './fetch.ts'
export { detailsOf, sentMessages, type CacheBreak, type CallDetails, type Sent } from './receipt.ts'
export {
  createRecorder,
  type ObservedCall,
  type Recorder,
  type RecorderNotice,
  type RecorderOptions,
  type RecorderSummary,
} from './recorder.ts'
export type { ObservedRequest, RecordedApi } from './wire.ts'
