export { attachedTo, lacking } from './attached.ts'
export { againstStoring, isPlaceholder, placeholderOf } from './placeholder.ts'
export { Recording } from './recording.ts'
export {
  decodeRow,
  encodeRow,
  erasedBody,
  isRowText,
  takeMessage,
  takeRow,
  type DecodedRow,
  type EncodedRow,
  type TakenOut,
} from './row.ts'
export { againstStub } from './stub.ts'
export {
  kindTerm,
  messageIn,
  retractionTerm,
  roleTerm,
  termsOf,
  textsOf,
  unreadTerm,
  type SearchText,
} from './terms.ts'
export { addTerms, termOf, unitsIn, type Unit } from './units.ts'
