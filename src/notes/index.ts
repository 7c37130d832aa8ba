export { decodeNote, noteFaultText, type NoteFault } from './decode.ts'
export { foldPages, rangeDigest } from './fold.ts'
export type { ApplicationNote, Note, PageNote, PinNote, ReceiptNote, SealNote, SummaryNote, ToolStartedNote, Usage } from './note.ts'
