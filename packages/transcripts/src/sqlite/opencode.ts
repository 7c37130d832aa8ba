/** The conversations of opencode's database. */
import type { DatabaseSync } from 'node:sqlite'
import { type Json, type JsonObject, right } from 'indelible/json/kit'
import { opencode } from '../opencode.ts'
import type { StoredConversation, StoredEntries } from './entries.ts'
import { countOf, objectOf, otherTables, parsedColumns, rowsOf, tableIs } from './rows.ts'

export const opencodeEntries = (db: DatabaseSync): StoredEntries => {
  const sessions = rowsOf(db, 'select id, title, time_updated from session order by time_created, id')
  const conversations = sessions.map(({ id, title, time_updated: updated }): StoredConversation =>
    Object.freeze({ id: String(id), title: String(title), updated: String(updated) }),
  )
  const entryOf: StoredEntries['entryOf'] = (id) => {
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
  }
  return { format: opencode, conversations, entryOf }
}

const opencodeTables = ['session', 'message', 'part', 'todo']
