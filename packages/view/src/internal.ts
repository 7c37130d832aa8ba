/** For the other folders and the packages of this repository, which are released together. Not a public API. */
export {
  dearestText,
  figuresOf,
  isFirstOwn,
  otherCallsOf,
  sharedText,
  sumsOf,
  sumsText,
  type CallFigures,
} from './calls/call-figures.ts'
export { changedParts, type ChangedPart, type UnchangedTools } from './calls/changed-parts.ts'
export { callsOf, noteIn, type CallRecord, type ModelCall, type NoteAtRow } from './calls/model-calls.ts'
export {
  emptySum,
  Spending,
  spendingAdvice,
  spendingFields,
  type SpendingField,
  type SpendingSession,
  type SpentCall,
} from './calls/spending.ts'
export type { SpendingRow, SpendingSum } from './protocol.ts'
export { addStore, spendingSession, type AddedSessions, type StoreSpendingOptions } from './calls/store-spending.ts'
export { comparedTexts, pairsWithCall, type Pair } from './calls/sent-pairs.ts'
export { sentCall } from './calls/sent-call.ts'
export { sentRequest, type SentRequest } from './calls/sent-request.ts'
export { blocksOf, sessionOf } from './server/read-view.ts'
export { damageOf, damageText, missingText, verifyStored, type VerdictFault } from './server/verdict.ts'
export {
  activityOf,
  claudeAgentText,
  firstWordsOf,
  hasOwnWords,
  importedFrom,
  placeText,
  projectIn,
  titleOf,
  tokensOf,
  workFolderOf,
} from './texts/about.ts'
export { callClause, causeTexts, isLoss } from './texts/cause-text.ts'
export { atLeast, dollarsText, share } from './texts/format-text.ts'
export { linesOf, type Line } from './texts/line-changes.ts'
export { levelReasons } from './texts/level-reason.ts'
export { paged, policies, window, type ComparedPolicy } from './calls/policies.ts'
