/** For the other folders and the packages of this repository, which are released together. Not a public API. */
export { attachedTo, missingBlocks, mayHaveAttachments } from './attachments.ts'
export { placeholderFault, isPlaceholder, placeholderOf } from './placeholder.ts'
export {
  type DecodedRow,
  type EncodedRow,
  UnreadRows,
  decodeRow,
  encodeRow,
  erasedBody,
  isRowText,
  NamedBlocks,
  type ReadRow,
  readRow,
  takeMessage,
  takeRow,
} from './row.ts'
export { stubFault } from './stub.ts'
export {
  type SearchText,
  kindTerm,
  messageIn,
  retractionTerm,
  roleTerm,
  termsOf,
  textsOf,
  unreadTerm,
} from './terms.ts'
export { type Word, addTerms, stemTerms, termOf, wordsIn } from './words.ts'
