export { exportLines, exportOf } from './export.ts'
export { importTranscript, type ImportTranscriptOptions } from './import.ts'
export { redactTranscript } from './redact.ts'
export { readTranscript, readTranscripts, type Transcripts } from './read.ts'
export { nativePrograms, writeNative, type Native, type NativeOptions, type NativeProgram } from './native/index.ts'
export { sourceTimeOf } from './source-time.ts'
export { readTranscriptStream } from './stream.ts'
export type { Range, Summary } from './line-format.ts'
export type { TranscriptEvent } from './event.ts'
export type {
  Damage,
  Origin,
  OriginUse,
  PlacedNote,
  Transcript,
  TranscriptFormat,
  TranscriptLoss,
  TranscriptOptions,
} from './transcript.ts'
