export { readTranscript } from './read.ts'
export type { TranscriptEvent } from './event.ts'
export type {
  Damage,
  ExportedHead,
  Origin,
  PlacedNote,
  Transcript,
  TranscriptFormat,
  TranscriptLoss,
  TranscriptOptions,
} from './transcript.ts'
