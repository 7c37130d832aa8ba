/** For the other folders and the packages of this repository, which are released together. Not a public API. */
export { sessionFaultText, sessionSentences, sessionSteps, type LeaseSessionFault } from './fault.ts'
export {
  callIdsIn,
  cutAnswerNotice,
  messagesOf,
  remindedPosition,
  unansweredReminder,
  whyUnanswered,
  type OpenStep,
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
export { appendRows } from './moving/append-rows.ts'
export { appendWithBlocks } from './writing/append.ts'
export { recordedBlocks } from './erasing/receipt-blocks.ts'
export { hasContent, notesThatRepeat, spellings } from './record/note-copies.ts'
export { openStepsOf } from './record/pending.ts'
export { defaultTtl } from './writing/lease.ts'
export { checkStore, leaseOfSession, partsOf, redactorOf } from './record/store-of.ts'
export { type ForkPoint, sessionInfo } from './record/metadata.ts'
export type { VerifyOptions } from './proofs/verify.ts'
export type { ExportedRow, RowMoment, ExportedHead } from './record/exported.ts'
export type { PagedMessages, MessagesAndNotes, NewReceipt } from './session.ts'
export type { DamagedRow } from './record/loaded-record.ts'
export type { RemainingData } from './erasing/receipt.ts'
