/** The rows of one session in a program's SQLite file, column by column, without a reader for its format. */
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite'

/** The ids of all sessions that a table refers to. */
export const idsIn = (path: string): readonly string[] =>
  withDatabase(path, (db) => {
    const ids = new Set<string>()
    for (const { name, sessionColumn } of tablesOf(db))
      if (sessionColumn === 'session_id')
        for (const { id } of db.prepare(`select distinct ${quoted(sessionColumn)} as id from ${quoted(name)}`).all())
          if (typeof id === 'string' && id !== '') ids.add(id)
    return [...ids].toSorted()
  })

/**
 * The rows of a session, a line of JSON each: `{"table":"message","row":{…}}`, by table and row id. A value that JSON can't
 * hold is an object: `{"$integer":"…"}` above 2^53, `{"$bytes":"BASE64"}`.
 */
export const rowsIn = (path: string, id: string): Uint8Array =>
  withDatabase(path, (db) => {
    const lines: string[] = []
    db.exec('begin') // one state of all tables
    for (const { name, sessionColumn } of tablesOf(db)) {
      if (sessionColumn === undefined) continue
      const statement = db.prepare(`select * from ${quoted(name)} where ${quoted(sessionColumn)} = ? order by rowid`)
      statement.setReadBigInts(true)
      for (const row of statement.iterate(id)) {
        const values = Object.entries(row).map(([column, value]) => [column, jsonOf(value)] as const)
        lines.push(`${JSON.stringify({ table: name, row: Object.fromEntries(values) })}\n`)
      }
    }
    return Buffer.from(lines.join(''))
  })

interface Table {
  readonly name: string
  /** The column with the id of the session; undefined if it has none. */
  readonly sessionColumn: string | undefined
}

const tablesOf = (db: DatabaseSync): readonly Table[] =>
  db
    .prepare(
      "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%' and sql not like '%without rowid%' order by name",
    )
    .all()
    .map(({ name }) => {
      const columns = db.prepare('select name from pragma_table_info(?)').all(String(name))
      const has = (column: string): boolean => columns.some((info) => info['name'] === column)
      const isSessions = /^sessions?(?:_?v\d+)?$/.test(String(name)) && has('id')
      return { name: String(name), sessionColumn: has('session_id') ? 'session_id' : isSessions ? 'id' : undefined }
    })

const jsonOf = (value: SQLOutputValue | undefined): unknown => {
  if (typeof value === 'bigint')
    return Number.isSafeInteger(Number(value)) ? Number(value) : { $integer: String(value) }
  return value instanceof Uint8Array ? { $bytes: Buffer.from(value).toString('base64') } : value
}

/** A name in SQL. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

const withDatabase = <T>(path: string, work: (db: DatabaseSync) => T): T => {
  const db = new DatabaseSync(path, { readOnly: true, timeout: 5000 })
  try {
    return work(db)
  } finally {
    db.close()
  }
}
