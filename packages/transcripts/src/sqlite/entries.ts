/** What the reader of each kind of database gives. */
import type { Either } from 'fp-ts/lib/Either.js'
import type { JsonObject } from 'indelible/json/kit'
import type { TranscriptFault } from 'indelible/codecs'
import type { LineFormat } from '../line-format.ts'

/** How many there are of each kind. */
export type Counts = { readonly [kind: string]: number }

/** One conversation of a database. */
export interface StoredConversation {
  /** Its id. */
  readonly id: string
  /** Its title, if it has one. */
  readonly title?: string
  /** The time of its last change, as the database has it. It changes with the conversation. */
  readonly updated: string
}

/** A kind of database: its conversations, and the entries of each, as a file would have them. */
export interface StoredEntries {
  readonly format: LineFormat
  readonly conversations: readonly StoredConversation[]
  readonly entryOf: (id: string) => Either<TranscriptFault, { readonly entry: JsonObject; readonly aside: Counts }>
}
