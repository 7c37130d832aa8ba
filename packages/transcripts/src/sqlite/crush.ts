/** The sessions of Crush's database. */
import type { DatabaseSync } from 'node:sqlite'
import { right } from 'indelible/internal/json'
import { crush } from '../crush.ts'
import type { StoredEntries } from './entries.ts'
import { jsonOf, otherTables, rowsOf, withColumn } from './rows.ts'

export const crushEntries = (db: DatabaseSync): StoredEntries => ({
  format: crush,
  conversations: rowsOf(
    db,
    'select id, title, updated_at from sessions where id in (select session_id from messages) order by created_at, id',
  ).map(({ id, title = '', updated_at: updated = '' }) =>
    Object.freeze({ id: String(id), title: String(title), updated: String(updated) }),
  ),
  entryOf: (id) => {
    const [session = {}] = rowsOf(db, 'select * from sessions where id = ?', id)
    const messages = rowsOf(db, 'select * from messages where session_id = ? order by created_at, rowid', id).map(
      (row) => withColumn(row, 'parts', jsonOf(row['parts']) ?? null),
    )
    return right({ entry: { ...session, messages }, aside: otherTables(db, tables) })
  },
  isRead: (table) => tables.includes(table),
})

const tables = ['sessions', 'messages', 'goose_db_version']
