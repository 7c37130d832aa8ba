/** For the other folders and the packages of this repository, which are released together. Not a public API. */
export { callsOf, cutAnswer, isCut, messageIn, indelibleMetaOf, resultMessages, withOwnCallId } from './answer.ts'
export { toolResultPart } from './construct.ts'
export { checkMessage } from './decode.ts'
export { erasedMark, erasedMessage, type UnerasedMessage, type UnerasedPart, withErasedText } from './erased.ts'
export { type PairingFault, messageFaultText, pairingSentences } from './fault.ts'
export { contentOf, isRole, roles } from './guards.ts'
export { createPairing, lengthOf } from './pairing.ts'
export { renamedCall, renamedResult, withContent } from './settle.ts'
export { isSpoken, isSubstantive } from './substantive.ts'
export {
  answerBrokeOff,
  answerIncomplete,
  denialText,
  faultBeforeCall,
  interruptedByUser,
  interruptedCall,
  interruptedTool,
  neverStarted,
  noResult,
  noResultYet,
  notRunAgainText,
  notRunText,
  otherMessageSaid,
  runCancelled,
  runLost,
  runStopped,
  runTimedOut,
  sideEffects,
  stepTimedOut,
  toolTimedOut,
  waitedForApproval,
} from './unanswered.ts'
export type { ToolResultPart, Role } from './message.ts'
