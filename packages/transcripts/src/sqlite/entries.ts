/** What the reader of each kind of database has. */
import type { DatabaseSync } from 'node:sqlite'
import type { Either } from 'fp-ts/lib/Either.js'
import type { JsonObject } from 'indelible/internal/json'
import type { TranscriptFault } from 'indelible/codecs'
import type { LineFormat } from '../format/line-format.ts'
import type { StoredConversation } from './stored-conversation.ts'

export type Counts = { readonly [kind: string]: number }

/** A kind of database. */
export interface DatabaseFormat {
  /** Whether a database with these columns, by the names of its tables, is of this kind. */
  readonly matches: (columns: ColumnsByTable) => boolean
  readonly open: (db: DatabaseSync) => StoredEntries
}

export type ColumnsByTable = ReadonlyMap<string, ReadonlySet<string>>

/** The content of a database: its conversations, and the entry of each in the form of a file's line. */
export interface StoredEntries {
  readonly format: LineFormat
  /** The format of an entry, if a database has several. Default: `format`. */
  readonly formatOf?: (entry: JsonObject) => LineFormat
  readonly conversations: readonly StoredConversation[]
  /** The tables that are read, or known to hold no content. The rows of others are counted. */
  readonly tables: readonly string[]
  readonly entryOf: (id: string) => Either<TranscriptFault, { readonly entry: JsonObject; readonly aside: Counts }>
}
