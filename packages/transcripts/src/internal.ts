/** For the other folders and the packages of this repository, which are released together. Not a public API. */
export { assembleTranscript } from './assemble.ts'
export { callUsageOf, type CallUsage } from './call-usage.ts'
export { packedCallsOf, spentIn } from './calls.ts'
export type { Damage, TranscriptLoss } from './transcript.ts'
export type { NativeOptions } from './native/native.ts'
export { recordOf } from './import.ts'
