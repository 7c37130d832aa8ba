/** For the other packages of this repository, which are released together. Not a public API. */
export { checkIgnored, fetchFrom, refusalBody, refusalHeaders, replayFaultText } from './fetch.ts'
export { ignorable, type Ignored } from './matching.ts'
export { Replay, type ReplayOutcome, type ReplayRequest, type ReplaySource } from './replay.ts'
export type { RecordedCall, RecordedReply, RecordedRequestFacts, WholeReply } from './recorded-calls.ts'
export { serveFetch } from './server.ts'
export { callsOfSessions } from './session-calls.ts'
export { writeReply, type WrittenReply } from './write-reply.ts'
