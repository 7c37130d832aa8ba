/**
 * Conversations in the SQLite files of opencode and of LangGraph's SqliteSaver. A file is opened
 * read-only and never written to.
 */
import { DatabaseSync } from 'node:sqlite'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'indelible/json/kit'
import type { TranscriptFault } from 'indelible/codecs'
import { assembleTranscript } from '../assemble.ts'
import { createLineImport } from '../line-import.ts'
import type { Transcript, TranscriptFormat, TranscriptOptions } from '../transcript.ts'
import type { StoredConversation, StoredEntries } from './entries.ts'
import { langgraphEntries } from './langgraph.ts'
import { opencodeEntries } from './opencode.ts'
import { rowsOf } from './rows.ts'

/** A database of recorded conversations, opened for reading. */
export interface TranscriptDatabase {
  /** The program that wrote it. */
  readonly format: TranscriptFormat
  /** The conversations, oldest first. `pick` is an index in this list. */
  readonly conversations: readonly StoredConversation[]
  /**
   * Read a conversation. Cost: O(conversation).
   *
   * @param options `pick`: the index of the conversation. Default: 0
   * @returns the transcript; or a fault
   */
  readonly read: (options?: TranscriptOptions) => Either<TranscriptFault, Transcript>
  /** Close the file. */
  readonly close: () => void
}

/**
 * Open a database of opencode, or of LangGraph's SqliteSaver (JavaScript or Python).
 *
 * @returns the database; or `UnknownFormat`
 * @example
 * const opened = openTranscriptDatabase('opencode.db')
 * if (isRight(opened)) opened.right.read({ pick: 0 })
 */
export const openTranscriptDatabase = (path: string): Either<TranscriptFault, TranscriptDatabase> => {
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(path, { readOnly: true })
    const tables = new Set(rowsOf(db, "select name from sqlite_schema where type = 'table'").map(({ name }) => name))
    const has = (...names: readonly string[]): boolean => names.every((name) => tables.has(name))
    if (has('session', 'message', 'part')) return right(database(db, opencodeEntries(db)))
    if (has('checkpoints', 'writes')) return right(database(db, langgraphEntries(db)))
    db.close()
    const named = [...tables].slice(0, 4).map((name) => JSON.stringify(name))
    return left(
      unknown(named.length === 0 ? 'a database without tables' : `a database with the tables ${named.join(', ')}`),
    )
  } catch (error) {
    if (db?.isOpen === true) db.close()
    return left(unreadable(error))
  }
}

/**
 * Read one conversation of a database, and close the database.
 *
 * @param options `pick`: the index of the conversation. Default: 0
 * @returns the transcript; or a fault
 */
export const readTranscriptDatabase = (
  path: string,
  options: TranscriptOptions = {},
): Either<TranscriptFault, Transcript> => {
  const opened = openTranscriptDatabase(path)
  if (isLeft(opened)) return opened
  try {
    return opened.right.read(options)
  } finally {
    opened.right.close()
  }
}

const unknown = (found: string): TranscriptFault => ({ _tag: 'UnknownFormat', found })

const unreadable = (error: unknown): TranscriptFault =>
  unknown(`a file that SQLite can't read (${error instanceof Error ? error.message : String(error)})`)

/** The entry of a conversation; a fault if a table lacks a column, or the file is damaged. */
const readEntry = (entryOf: StoredEntries['entryOf'], id: string): ReturnType<StoredEntries['entryOf']> => {
  try {
    return entryOf(id)
  } catch (error) {
    return left(unreadable(error))
  }
}

/** The part that both kinds of database share: the entry of one conversation is read like a line of a file. */
const database = (db: DatabaseSync, { format, conversations, entryOf }: StoredEntries): TranscriptDatabase => ({
  format: format.format,
  conversations: Object.freeze(conversations),
  close: () => db.close(),
  read: ({ pick = 0, strict = false } = {}) => {
    const wanted = conversations[pick]
    if (wanted === undefined) return left({ _tag: 'NoSuchConversation', pick, count: conversations.length })
    const found = readEntry(entryOf, wanted.id)
    if (isLeft(found)) return found
    const reading = createLineImport(format, { strict })
    const read = assembleTranscript([
      ...reading.push({ number: 1, text: JSON.stringify(found.right.entry) }),
      ...reading.end(),
    ])
    if (isLeft(read)) return read
    const { origin, ...transcript } = read.right
    const aside = Object.freeze({ ...origin.aside, ...found.right.aside })
    return right(
      Object.freeze({ ...transcript, origin: Object.freeze({ ...origin, aside }), count: conversations.length, pick }),
    )
  },
})
