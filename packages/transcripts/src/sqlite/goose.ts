/** The sessions of Goose's database. */
import type { DatabaseSync } from 'node:sqlite'
import { right } from 'indelible/internal/json'
import { goose } from '../goose.ts'
import type { StoredEntries } from './entries.ts'
import { jsonOf, otherTables, parsedColumns, rowsOf, withColumn } from './rows.ts'

export const gooseEntries = (db: DatabaseSync): StoredEntries => ({
  format: goose,
  conversations: rowsOf(db, 'select * from sessions order by created_at, id').map(
    ({ id, name = '', description = name, updated_at: updated = '' }) =>
      Object.freeze({ id: String(id), title: String(description), updated: String(updated) }),
  ),
  entryOf: (id) => {
    const [session = {}] = rowsOf(db, 'select * from sessions where id = ?', id)
    const messages = rowsOf(db, 'select * from messages where session_id = ? order by id', id).map((row) =>
      withColumn(row, 'content_json', jsonOf(row['content_json']) ?? null, 'content'),
    )
    return right({ entry: { working_dir: '', ...parsedColumns(session), messages }, aside: otherTables(db, tables) })
  },
  isRead: (table) => tables.includes(table),
})

const tables = ['sessions', 'messages', 'schema_version']
