/** Conversations that were found in a file, before they are decoded, and the formats of files that are one JSON value. */
import type { Either } from 'fp-ts/lib/Either.js'
import type { Decoded, TranscriptFault } from 'indelible/codecs'
import type { Path } from 'indelible/internal/json'
import type { FormatFacts } from './format-facts.ts'
import type { OriginDraft } from './origin.ts'
import type { TranscriptFormat } from '../transcript.ts'

export interface Conversation {
  readonly format: TranscriptFormat
  readonly decode: () => Either<TranscriptFault, Decoded>
  readonly origin: OriginDraft
  /** Values that are changed or left out while reading. */
  readonly losses: readonly Misread[]
}

export interface Misread {
  readonly path: Path
  readonly reason: string
}

export interface ValueFormat extends FormatFacts {
  /** The conversations of a value in this format; undefined for any other value. */
  readonly conversations: (value: unknown) => readonly Conversation[] | undefined
}
