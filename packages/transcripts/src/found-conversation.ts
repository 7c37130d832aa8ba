/** A conversation that was found in a file, before it is decoded. */
import type { Either } from 'fp-ts/lib/Either.js'
import type { Decoded, TranscriptFault } from 'indelible/codecs'
import type { Path } from 'indelible/internal/json'
import type { OriginDraft } from './origin.ts'
import type { TranscriptFormat } from './transcript.ts'

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
