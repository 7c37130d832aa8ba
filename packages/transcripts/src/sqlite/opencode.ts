/** The conversations of opencode's database: in `session`, `message` and `part`, and in the later tables `session_message` and `session_v2`. */
import type { DatabaseSync } from 'node:sqlite'
import { type Json, type JsonObject, right } from 'indelible/internal/json'
import { opencode } from '../programs/opencode.ts'
import { opencodeRows } from '../programs/opencode-rows.ts'
import type { Counts, DatabaseFormat, StoredEntries } from './entries.ts'
import type { StoredConversation } from './stored-conversation.ts'
import { countOf, objectOf, parsedColumns, rowsOf, tableIs, withColumn } from './rows.ts'

export const opencodeDatabase: DatabaseFormat = {
  matches: (columns) =>
    ['session', 'message', 'part'].every((table) => columns.has(table)) || columns.has('session_message'),
  open: (db) => sessionsOf(db),
}

const sessionsOf = (db: DatabaseSync): StoredEntries => {
  const has = (table: string): boolean => tableIs(db, table)
  const sessionTables = ['session_v2', 'session'].filter(has)
  const rows = sessionTables.flatMap((table) =>
    rowsOf(db, `select id, title, time_created, time_updated, '${table}' as "table" from ${table}`),
  )
  const byId = new Map<string, JsonObject>()
  for (const row of rows) {
    const other = byId.get(String(row['id']))
    if (other === undefined || Number(row['time_updated']) > Number(other['time_updated']))
      byId.set(String(row['id']), row)
  }
  const isOrdered = (a: JsonObject, b: JsonObject): number =>
    Number(a['time_created']) - Number(b['time_created']) || (String(a['id']) < String(b['id']) ? -1 : 1)
  const conversations = [...byId.values()]
    .toSorted(isOrdered)
    .map(({ id, title, time_updated: updated }): StoredConversation => {
      const isLater = isInLaterTables(db, String(id))
      return Object.freeze({
        id: String(id),
        title: String(title),
        updated: String(updated),
        ...(isLater && { isLater }),
      })
    })
  const entryOf: StoredEntries['entryOf'] = (id) =>
    isInLaterTables(db, id)
      ? right({ entry: rowsEntry(db, id, String(byId.get(id)?.['table'])), aside: {} })
      : right(partsEntry(db, id, String(byId.get(id)?.['table'] ?? 'session')))
  return {
    format: opencode,
    formatOf: (entry) => (opencodeRows.matches(entry) ? opencodeRows : opencode),
    conversations,
    entryOf,
    tables: ['session', 'message', 'part', 'todo', 'session_v2', 'session_message'],
  }
}

/** Whether the later tables have the newer state of a session's messages. */
const isInLaterTables = (db: DatabaseSync, id: string): boolean => {
  const latest = (table: string): number =>
    tableIs(db, table)
      ? countOf(db, `select coalesce(max(time_updated), 0) as n from ${table} where session_id = ?`, id)
      : 0
  const later = latest('session_message')
  return later > 0 && later >= latest('message')
}

const rowsEntry = (db: DatabaseSync, id: string, table: string): JsonObject => {
  const [session = {}] = rowsOf(db, `select * from ${table} where id = ?`, id)
  const columns = rowsOf(db, 'select * from session_message where session_id = ? order by rowid', id)
  const ordered = columns.toSorted((a, b) => (Number(a['seq']) || 0) - (Number(b['seq']) || 0))
  return {
    session: parsedColumns(session),
    session_message: ordered.map((row) => withColumn(row, 'data', objectOf(row['data']))),
  }
}

const partsEntry = (
  db: DatabaseSync,
  id: string,
  table: string,
): { readonly entry: JsonObject; readonly aside: Counts } => {
  const [row = {}] = rowsOf(db, `select * from ${table} where id = ?`, id)
  const { project_id: projectID = null, time_created: created = null, time_updated: updated = null, ...columns } = row
  const parts = new Map<Json | undefined, JsonObject[]>()
  const from = (name: string, order: string): readonly JsonObject[] =>
    tableIs(db, name) ? rowsOf(db, `select * from ${name} where session_id = ? order by ${order}`, id) : []
  for (const { data, message_id: messageID = null, session_id: sessionID = null, ...more } of from('part', 'id')) {
    const part = { ...more, ...objectOf(data), messageID, sessionID }
    const others = parts.get(messageID)
    if (others === undefined) parts.set(messageID, [part])
    else others.push(part)
  }
  const messages = from('message', 'time_created, id').map(
    ({ data, id: messageID = null, session_id: sessionID = null, ...more }) => ({
      info: { ...objectOf(data), id: messageID, sessionID },
      parts: parts.get(messageID) ?? [],
      row: more,
    }),
  )
  const todos = from('todo', 'position')
  const info = { ...parsedColumns(columns), projectID, time: { created, updated } }
  const others = tableIs(db, 'message') ? countOf(db, 'select count(*) as n from message where session_id <> ?', id) : 0
  return {
    entry: { info, messages, ...(todos.length > 0 && { todos }) },
    aside: others > 0 ? { 'message of another conversation': others } : {},
  }
}
