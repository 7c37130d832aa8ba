/** For the other folders and the packages of this repository, which are released together. Not a public API. */
export { sessionFaultText, sessionSentences } from './fault.ts'
export {
  callIdsIn,
  cutAnswerNotice,
  interruptedTool,
  messagesOf,
  remindedPosition,
  sideEffects,
  unansweredReminder,
  whyUnanswered,
} from './record/journal.ts'
export {
  type AdapterSession,
  type SessionMark,
  idOfParts,
  adapterSession,
  adapterSessions,
  requireMark,
  removeMarked,
} from './opening/adapter-session.ts'
export { appendRows, type RowsToAppend } from './moving/append-rows.ts'
export { recordedBlocks } from './erasing/receipt-blocks.ts'
export { hasContent, spellings } from './record/note-copies.ts'
export { openStepsOf } from './record/pending.ts'
export { checkStore, leaseOfSession, redactorOf } from './record/store-of.ts'
export { type CallUse, hasFailed, readUsage, usesIn, usesOf } from './opening/usage.ts'
