/**
 * Conversations in the SQLite files of opencode, Goose, Crush and LangGraph's SqliteSaver. A file is opened
 * read-only and never written to.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'indelible/internal/json'
import type { TranscriptFault } from 'indelible/codecs'
import { assembleTranscript } from '../reading/assemble.ts'
import { createLineImport } from '../reading/line-import.ts'
import type { Transcript, TranscriptFormat, TranscriptOptions } from '../transcript.ts'
import type { ColumnsByTable, DatabaseFormat, StoredEntries } from './entries.ts'
import type { StoredConversation } from './stored-conversation.ts'
import { langgraphDatabase } from './langgraph.ts'
import { opencodeDatabase } from './opencode.ts'
import { columnsOf, rowCounts } from './rows.ts'
import { crushDatabase, gooseDatabase } from './sessions.ts'

/** Every kind of database: to add one, write its file and name it here. */
const databases: readonly DatabaseFormat[] = [opencodeDatabase, gooseDatabase, crushDatabase, langgraphDatabase]

/** Not an import: an older Node refuses it before the library can say which Node it needs. */
const sqlite = process.getBuiltinModule('node:sqlite')

/** A database of recorded conversations, opened for reading. */
export interface TranscriptDatabase {
  /** The program that wrote it. */
  readonly format: TranscriptFormat
  /** The conversations, oldest first. `pick` is an index in this list. */
  readonly conversations: readonly StoredConversation[]
  /** The tables that may hold conversations but are not read, such as those of a later version, with their rows. */
  readonly unread: { readonly [table: string]: number }
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
 * Open a database of opencode, Goose, Crush, or LangGraph's SqliteSaver (JavaScript or Python).
 *
 * @returns the database; or `UnknownFormat`
 * @example
 * const opened = openTranscriptDatabase('opencode.db')
 * if (isRight(opened)) opened.right.read({ pick: 0 })
 */
export const openTranscriptDatabase = (path: string): Either<TranscriptFault, TranscriptDatabase> => {
  let db: DatabaseSync | undefined
  try {
    db = new sqlite.DatabaseSync(path, { readOnly: true })
    const columns = columnsOf(db)
    const format = databases.find(({ matches }) => matches(columns))
    if (format !== undefined) return right(database(db, format.open(db), columns))
    const counted = unreadTables(db, columns, [])
    db.close()
    const named = [...columns.keys()].slice(0, 4).map((name) => {
      const rows = counted[name]
      return `${JSON.stringify(name)}${rows === undefined ? '' : ` (${rows} ${rows === 1 ? 'row' : 'rows'})`}`
    })
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

/** Tables of the programs that belong to sessions but hold no messages. */
const bookkeeping: ReadonlySet<unknown> = new Set(['todo', 'permission', 'session_share', 'files', 'read_files'])

/** The tables that are named like those of conversations, or belong to one and hold content, have rows, and are not read. */
const unreadTables = (
  db: DatabaseSync,
  columns: ColumnsByTable,
  read: readonly string[],
): { readonly [table: string]: number } => {
  const unread = [...columns].filter(
    ([table, names]) =>
      !read.includes(table) &&
      !bookkeeping.has(table) &&
      (/^(?:sessions?|messages?|parts?|threads?)(?:_?v\d+)?$|^session_messages?_?v\d+$/.test(table) ||
        isOfConversations([...names])),
  )
  return rowCounts(
    db,
    unread.map(([table]) => table),
  )
}

const isOfConversations = (columns: readonly string[]): boolean =>
  columns.some((name) => /^(?:session|conversation|thread|chat)_?id$/i.test(name)) &&
  columns.some((name) => /^(?:data|content|contents|content_json|parts|messages?|text|body|payload)$/i.test(name))

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
const database = (
  db: DatabaseSync,
  { format, formatOf = () => format, conversations, entryOf, tables }: StoredEntries,
  columns: ColumnsByTable,
): TranscriptDatabase => ({
  format: format.format,
  conversations: Object.freeze(conversations),
  unread: Object.freeze(unreadTables(db, columns, tables)),
  close: () => db.close(),
  read: ({ pick = 0, strict = false } = {}) => {
    const wanted = conversations[pick]
    if (wanted === undefined) return left({ _tag: 'NoSuchConversation', pick, count: conversations.length })
    const found = readEntry(entryOf, wanted.id)
    if (isLeft(found)) return found
    const reading = createLineImport(formatOf(found.right.entry), { strict })
    const read = assembleTranscript([
      ...reading.push({ number: 1, text: JSON.stringify(found.right.entry) }),
      ...reading.end(),
    ])
    if (isLeft(read)) return read
    const { origin, ...transcript } = read.right
    const others = rowCounts(
      db,
      [...columns.keys()].filter((table) => !tables.includes(table)),
    )
    const ofOthers = Object.entries(others).map(([table, rows]) => [`row of ${table}`, rows])
    const aside = Object.freeze({ ...origin.aside, ...found.right.aside, ...Object.fromEntries(ofOthers) })
    return right(
      Object.freeze({ ...transcript, origin: Object.freeze({ ...origin, aside }), count: conversations.length, pick }),
    )
  },
})
