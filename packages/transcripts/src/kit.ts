/** For the rooms and packages of this repository, which are released together. Other programs get no promise here. */
export { assembleTranscript } from './assemble.ts'
export { callUsageOf, type CallUsage } from './call-usage.ts'
