/** For the other folders and the packages of this repository, which are released together. Not a public API. */
export { promptText } from './cache-break.ts'
export { namedTools } from './named-tools.ts'
export { sentEntries, toSentMessage } from './receipt.ts'
export { carriesConversation } from './wire.ts'
export type { RecorderSummary } from './summary.ts'
