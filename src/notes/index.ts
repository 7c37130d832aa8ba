export { checkNote, decodeNote } from './decode.ts'
export { foldPages, isMark, rangeDigest, retractedBy } from './fold.ts'
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
