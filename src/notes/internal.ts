/** For the other folders and the packages of this repository, which are released together. Not a public API. */
export { checkNote, decodeNote } from './decode.ts'
export { noteFaultText } from './fault.ts'
export { type PageFold, foldPage, foldPages, isMark, kindIn, noPages, rangeDigest, retractedBy } from './fold.ts'
export type {
  ApplicationNote,
  InputNote,
  JournalBlock,
  JournalNote,
  KeptFileNote,
  MetadataNote,
  Note,
  PinNote,
  ReceiptNote,
  RetractionNote,
  SealNote,
  SummaryNote,
  ToolStartedNote,
  Usage,
} from './note.ts'
export { placeNote, placeOf } from './place.ts'
export { callRecorders, type FailureSummary } from './call-recorders.ts'
