export { checkNote, decodeNote } from './decode.ts'
export { foldPage, foldPages, isMark, kindIn, noPages, rangeDigest, retractedBy, type PageFold } from './fold.ts'
export type {
  ApplicationNote,
  ErasedNote,
  InputNote,
  JournalBlock,
  JournalNote,
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
export type { NoteFault } from './fault.ts'
export { placeNote, placeOf } from './place.ts'
