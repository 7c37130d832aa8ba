/** For the rooms and packages of this repository, which are released together. Other programs get no promise here. */
export { sessionFaultText, sessionSentences } from './fault.ts'
export { callIdsIn, goOnAfter, messagesOf, whyUnanswered } from './record/journal.ts'
export {
  type AdapterSession,
  type Mark,
  idOfParts,
  adapterSession,
  adapterSessions,
  requireMark,
  removeMarked,
} from './opening/adapter-session.ts'
export { checkStore, redactorOf } from './record/store-of.ts'
export { type CallUse, hasFailed, readUsage, usesIn, usesOf } from './opening/usage.ts'
