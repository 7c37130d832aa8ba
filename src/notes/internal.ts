/** For the other folders and the packages of this repository, which are released together. Not a public API. */
export { checkNote, decodeNote } from './decode.ts'
export { type NoteFault, noteFaultText } from './fault.ts'
export { type PageFold, foldPage, foldPages, isMark, kindIn, noPages, rangeDigest, retractedBy } from './fold.ts'
export type {
  ApplicationNote,
  ErasedNote,
  InputNote,
  JournalBlock,
  JournalNote,
  KeptBlock,
  KeptFileNote,
  MetadataNote,
  Note,
  PageNote,
  PinNote,
  ReceiptNote,
  RetractionNote,
  SealNote,
  SummaryNote,
  ToolStartedNote,
  Usage,
} from './note.ts'
export { placeNote, placeOf } from './place.ts'
export {
  callRecorders,
  type CallLogKeys,
  type CallRecorder,
  type FailureSummary,
  type RecordedCall,
} from './call-recorders.ts'
