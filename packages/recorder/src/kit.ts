/** For the packages of this repository, which are released together. Not a public API. */
export { CacheWatch, missedText, otherModelText } from './cache-watch.ts'
export { namedTools } from './named-tools.ts'
export { sentEntries, toSentMessage } from './receipt.ts'
export { carriesConversation } from './wire.ts'
