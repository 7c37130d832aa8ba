/** For the other folders and the packages of this repository, which are released together. Not a public API. */
export { promptText } from './conversations/cache-break.ts'
export { namedTools } from './messages/named-tools.ts'
export { sentEntries, toSentMessage } from './conversations/receipt.ts'
export { carriesConversation } from './requests/wire.ts'
export type { RecorderSummary } from './summary.ts'
