/**
 * Conversations in SQLite files that other programs keep: opencode's, and those of LangGraph's SqliteSaver. A file is
 * opened to be read only, and nothing is written to it.
 */
import { DatabaseSync } from 'node:sqlite'
import type { Either } from 'fp-ts/lib/Either.js'
import { describe, isLeft, isObject, type Json, type JsonObject, left, right } from '../../json/index.ts'
import type { TranscriptFault } from '../../codecs/index.ts'
import { assembleTranscript } from '../assemble.ts'
import { langgraph } from '../langgraph.ts'
import { createLineImport } from '../line-import.ts'
import type { LineFormat } from '../line-format.ts'
import { opencode } from '../opencode.ts'
import type { Transcript, TranscriptFormat, TranscriptOptions } from '../transcript.ts'

/** One conversation of a database. */
export interface StoredConversation {
  /** Its id. */
  readonly id: string
  /** Its title, if it has one. */
  readonly title?: string
  /** The time of its last change, as the database has it. It changes with the conversation. */
  readonly updated: string
}

/** A database of recorded conversations, opened for reading. */
export interface TranscriptDatabase {
  /** The program that wrote it. */
  readonly format: TranscriptFormat
  /** The conversations, in the order in which they began. `pick` is an index in this list. */
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
 * Open a database of opencode, or of LangGraph's SqliteSaver for JavaScript. LangGraph for Python writes msgpack, which
 * is
 * `UnknownFormat`, like any other file.
 *
 * @param path the file
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
    if (has('session', 'message', 'part')) return right(opencodeDatabase(db))
    if (has('checkpoints', 'writes')) return right(langgraphDatabase(db))
    db.close()
    const named = [...tables].slice(0, 4).map((name) => JSON.stringify(name))
    return left(
      unknown(named.length === 0 ? 'a database without tables' : `a database with the tables ${named.join(', ')}`),
    )
  } catch (error) {
    if (db?.isOpen === true) db.close()
    return left(unknown(`a file that SQLite can't read (${error instanceof Error ? error.message : String(error)})`))
  }
}

/**
 * Read one conversation of a database, and close the database.
 *
 * @param path the file
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

/** What both kinds of database do: read the entry of one conversation, as if it were a file's. */
const database = (
  db: DatabaseSync,
  format: LineFormat,
  conversations: readonly StoredConversation[],
  entryOf: (id: string) => Either<TranscriptFault, { readonly entry: JsonObject; readonly aside: Counts }>,
): TranscriptDatabase => ({
  format: format.format,
  conversations: Object.freeze(conversations),
  close: () => db.close(),
  read: ({ pick = 0, strict = false } = {}) => {
    const wanted = conversations[pick]
    if (wanted === undefined) return left({ _tag: 'NoSuchConversation', pick, count: conversations.length })
    const found = entryOf(wanted.id)
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

type Counts = { readonly [kind: string]: number }

const opencodeDatabase = (db: DatabaseSync): TranscriptDatabase => {
  const sessions = rowsOf(db, 'select id, title, time_updated from session order by time_created, id')
  const conversations = sessions.map(({ id, title, time_updated: updated }): StoredConversation =>
    Object.freeze({ id: String(id), title: String(title), updated: String(updated) }),
  )
  return database(db, opencode, conversations, (id) => {
    const [row = {}] = rowsOf(db, 'select * from session where id = ?', id)
    const { project_id: projectID = null, time_created: created = null, time_updated: updated = null, ...columns } = row
    const parts = new Map<Json | undefined, JsonObject[]>()
    for (const { data, message_id: messageID = null, session_id: sessionID = null, ...more } of rowsOf(
      db,
      'select * from part where session_id = ? order by id',
      id,
    )) {
      const part = { ...more, ...objectOf(data), messageID, sessionID }
      parts.set(messageID, [...(parts.get(messageID) ?? []), part])
    }
    const messages = rowsOf(db, 'select * from message where session_id = ? order by time_created, id', id).map(
      ({ data, id: messageID = null, session_id: sessionID = null, ...row }) => ({
        info: { ...objectOf(data), id: messageID, sessionID },
        parts: parts.get(messageID) ?? [],
        row,
      }),
    )
    const todos = tableIs(db, 'todo') ? rowsOf(db, 'select * from todo where session_id = ? order by position', id) : []
    const info = { ...parsedColumns(columns), projectID, time: { created, updated } }
    const entry = { info, messages, ...(todos.length > 0 && { todos }) }
    const others = countOf(db, 'select count(*) as n from message where session_id <> ?', id)
    const aside = {
      ...(others > 0 && { 'message of another conversation': others }),
      ...otherTables(db, opencodeTables),
    }
    return right({ entry, aside })
  })
}

const opencodeTables = ['session', 'message', 'part', 'todo']

const langgraphDatabase = (db: DatabaseSync): TranscriptDatabase => {
  const threads = rowsOf(
    db,
    "select thread_id, max(checkpoint_id) as last from checkpoints where checkpoint_ns = '' group by thread_id order by min(checkpoint_id)",
  )
  const conversations = threads.map(({ thread_id: id, last }): StoredConversation =>
    Object.freeze({ id: String(id), updated: String(last) }),
  )
  return database(db, langgraph, conversations, (id) => {
    const [row = {}] = rowsOf(
      db,
      "select * from checkpoints where thread_id = ? and checkpoint_ns = '' order by checkpoint_id desc limit 1",
      id,
    )
    const checkpoint = jsonOf(row['checkpoint'])
    if (!isObject(checkpoint))
      return left(
        unknown(
          `a checkpoint of the type ${describe(row['type'])}, which is not JSON: LangGraph for Python writes msgpack`,
        ),
      )
    const { metadata, ...columns } = row
    const entry = { ...columns, checkpoint, metadata: jsonOf(metadata) ?? null }
    const earlier =
      countOf(db, "select count(*) as n from checkpoints where thread_id = ? and checkpoint_ns = ''", id) - 1
    const inner = countOf(db, "select count(*) as n from checkpoints where thread_id = ? and checkpoint_ns <> ''", id)
    const others = countOf(db, 'select count(*) as n from checkpoints where thread_id <> ?', id)
    const writes = countOf(db, 'select count(*) as n from writes where thread_id = ?', id)
    const aside = {
      ...(earlier > 0 && { 'earlier checkpoint': earlier }),
      ...(inner > 0 && { 'checkpoint of a subgraph': inner }),
      ...(others > 0 && { 'checkpoint of another thread': others }),
      ...(writes > 0 && { write: writes }),
      ...otherTables(db, ['checkpoints', 'writes']),
    }
    return right({ entry, aside })
  })
}

/** How many rows the other tables have. */
const otherTables = (db: DatabaseSync, read: readonly string[]): Counts => {
  const tables = rowsOf(db, "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'")
  return Object.fromEntries(
    tables.flatMap(({ name }): (readonly [string, number])[] => {
      if (typeof name !== 'string' || read.includes(name)) return []
      const rows = countOf(db, `select count(*) as n from "${name.replaceAll('"', '""')}"`)
      return rows === 0 ? [] : [[`row of ${name}`, rows]]
    }),
  )
}

const tableIs = (db: DatabaseSync, name: string): boolean =>
  countOf(db, "select count(*) as n from sqlite_schema where type = 'table' and name = ?", name) > 0

const countOf = (db: DatabaseSync, query: string, ...values: readonly string[]): number =>
  Number(db.prepare(query).get(...values)?.['n'] ?? 0)

/** Rows as JSON: bytes as their text, and nulls left out. */
const rowsOf = (db: DatabaseSync, query: string, ...values: readonly string[]): readonly JsonObject[] =>
  db
    .prepare(query)
    .all(...values)
    .map((row) =>
      Object.fromEntries(
        Object.entries(row).flatMap(([name, value]): (readonly [string, Json])[] => {
          if (value === null) return []
          if (value instanceof Uint8Array) return [[name, text.decode(value)]]
          return [[name, typeof value === 'bigint' ? Number(value) : value]]
        }),
      ),
    )

const text = new TextDecoder()

const jsonOf = (value: Json | undefined): Json | undefined => {
  try {
    return typeof value === 'string' ? (JSON.parse(value) as Json) : value
  } catch {
    return undefined
  }
}

/** A column of JSON; where it is none, its text. */
const objectOf = (value: Json | undefined): JsonObject => {
  const parsed = jsonOf(value)
  return isObject(parsed) ? parsed : { data: value ?? null }
}

/** Columns, those that hold JSON as what they hold. */
const parsedColumns = (columns: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(columns).map(([name, value]) => [
      name,
      typeof value === 'string' && /^[[{]/.test(value) ? (jsonOf(value) ?? value) : value,
    ]),
  )
