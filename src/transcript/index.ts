export { assembleTranscript } from './assemble.ts'
export { exportLines, exportOf, type Exported, type ExportedRow } from './export.ts'
export { readTranscript } from './read.ts'
export { sourceTimeOf } from './source-time.ts'
export { readTranscriptStream } from './stream.ts'
export type { Range, Summary } from './line-format.ts'
export type { TranscriptEvent } from './event.ts'
export type {
  Damage,
  ExportedHead,
  Origin,
  PlacedNote,
  RowMoment,
  Transcript,
  TranscriptFormat,
  TranscriptLoss,
  TranscriptOptions,
} from './transcript.ts'
