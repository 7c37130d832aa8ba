export { recordingFetch, type RecordingFetch, type RecordingFetchOptions } from './fetch.ts'
export { detailsOf, sentMessages, type CallDetails } from './conversations/receipt.ts'
export type { ObservedCall } from './observed-call.ts'
export { createRecorder, type Recorder, type RecorderNotice, type RecorderOptions } from './recorder.ts'
