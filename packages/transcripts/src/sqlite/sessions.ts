/** Databases with a table of sessions and one of their messages, as Goose and Crush keep them. */
import { right, type JsonObject } from 'indelible/internal/json'
import { crush } from '../programs/crush.ts'
import { goose } from '../programs/goose.ts'
import type { LineFormat } from '../format/line-format.ts'
import type { DatabaseFormat } from './entries.ts'
import { jsonOf, parsedColumns, rowsOf, withColumn } from './rows.ts'

/** How the tables of a program differ from those of others. */
interface Tables {
  readonly format: LineFormat
  /** The column of a message's content, which only this program has, and its name in the entry. */
  readonly content: readonly [column: string, name: string]
  /** The column of a session's title. */
  readonly title: string
  readonly order: string
  readonly versions: string
  /** The fields of a session that may be absent, but not in its entry. */
  readonly defaults?: JsonObject
}

const sessionsAndMessages = ({
  format,
  content: [column, name],
  title,
  order,
  versions,
  defaults = {},
}: Tables): DatabaseFormat => ({
  matches: (columns) => columns.has('sessions') && columns.get('messages')?.has(column) === true,
  open: (db) => ({
    format,
    tables: ['sessions', 'messages', versions],
    conversations: rowsOf(
      db,
      'select * from sessions where id in (select session_id from messages) order by created_at, id',
    ).map((row) =>
      Object.freeze({
        id: String(row['id']),
        title: String(row[title] ?? row['name'] ?? ''),
        updated: String(row['updated_at'] ?? ''),
      }),
    ),
    entryOf: (id) => {
      const [session = {}] = rowsOf(db, 'select * from sessions where id = ?', id)
      const messages = rowsOf(db, `select * from messages where session_id = ? order by ${order}`, id).map((row) =>
        withColumn(row, column, jsonOf(row[column]) ?? null, name),
      )
      return right({ entry: { ...defaults, ...parsedColumns(session), messages }, aside: {} })
    },
  }),
})

export const gooseDatabase: DatabaseFormat = sessionsAndMessages({
  ...{ format: goose, title: 'description', order: 'id', versions: 'schema_version' },
  content: ['content_json', 'content'],
  defaults: { working_dir: '' },
})

export const crushDatabase: DatabaseFormat = sessionsAndMessages({
  ...{ format: crush, title: 'title', order: 'created_at, rowid', versions: 'goose_db_version' },
  content: ['parts', 'parts'],
})
