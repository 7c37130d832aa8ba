/** For the other folders and the packages of this repository, which are released together. Not a public API. */
export { assembleTranscript } from './reading/assemble.ts'
export { callUsageOf, type CallUsage } from './storing/call-usage.ts'
export { packedCallsOf, spentIn } from './storing/calls.ts'
export type { Damage, TranscriptLoss } from './transcript.ts'
export type { NativeOptions } from './native/native.ts'
export { recordOf } from './storing/import.ts'
