/** Brings the kept rows of a session back into opencode's database: by its own import, then column by column. */
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { isDeepStrictEqual } from 'node:util'
import { isObject, jsonIn, type JsonObject } from 'indelible/internal/json'
import { quoted, rowsIn } from '../sources/database-rows.ts'
import { Unreadable, type Terminal } from '../terminal/command.ts'
import { programOutput } from '../terminal/program.ts'

interface KeptRow {
  readonly table: string
  readonly row: JsonObject
}

/**
 * Write the rows of a session, if it is not there. opencode's import creates its rows, with times of its own and members in
 * another order; they then get the kept values.
 *
 * @returns false if the session is there with the same rows
 * @throws Unreadable if it is there with other rows, or opencode does not import it
 */
export const restoreRows = async (
  bytes: Uint8Array,
  path: string,
  id: string,
  { env, path: pathOf }: Pick<Terminal, 'env' | 'path'>,
): Promise<boolean> => {
  const name = `${path}#${id}`
  const lines = linesOf(bytes)
  const rows = lines.map(keptRow)
  const there = existsSync(path) ? linesOf(rowsIn(path, id)) : []
  if (there.length > 0) {
    if (isDeepStrictEqual(there, lines)) return false
    throw new Unreadable(
      `${name}: is there and differs from what was kept; nothing was written. --to FOLDER writes a copy`,
    )
  }
  const folder = await mkdtemp(join(tmpdir(), 'indelible-'))
  try {
    const file = join(folder, 'session.json')
    await writeFile(file, JSON.stringify(importOf(rows, id)), { mode: 0o600 })
    const { directory } = rows.find(({ table }) => table === 'session')?.row ?? {}
    const cwd = typeof directory === 'string' && existsSync(directory) ? directory : pathOf('.')
    const output = await programOutput('opencode', ['import', file], env, cwd)
    if (!existsSync(path) || rowsIn(path, id).length === 0)
      throw new Unreadable(
        `${name}: opencode did not import it: ${output.trim().slice(-500) || 'found no program "opencode" in PATH'}; --to FOLDER writes its rows`,
      )
  } finally {
    await rm(folder, { recursive: true, maxRetries: 20, retryDelay: 100 })
  }
  setColumns(path, rows)
  if (!isDeepStrictEqual(linesOf(rowsIn(path, id)), lines))
    throw new Unreadable(`${name}: was imported, but opencode has another project or other columns for it here`)
  return true
}

/** The rows, in an order that does not depend on when they were written. */
const linesOf = (bytes: Uint8Array): readonly string[] =>
  Buffer.from(bytes).toString().split('\n').filter(Boolean).toSorted()

const keptRow = (line: string): KeptRow => {
  const value = jsonIn(line)
  if (!isObject(value) || typeof value['table'] !== 'string' || !isObject(value['row']))
    throw new Unreadable('the kept rows have another form; --to FOLDER writes them')
  return { table: value['table'], row: value['row'] as JsonObject }
}

/** What `opencode import` reads. Source: opencode 1.18.33, packages/opencode/src/cli/cmd/import.ts */
const importOf = (rows: readonly KeptRow[], id: string): object => {
  const of = (table: string): readonly JsonObject[] => rows.flatMap((row) => (row.table === table ? [row.row] : []))
  const dataOf = ({ data }: JsonObject): object => (typeof data === 'string' ? (jsonIn(data) as object) : {})
  const [session = {}] = of('session')
  const {
    slug,
    directory,
    title,
    version,
    project_id: projectID,
    time_created: created,
    time_updated: updated,
  } = session
  return {
    info: { id, slug, projectID, directory, title, version, time: { created, updated } },
    messages: of('message').map((message) => ({
      info: { ...dataOf(message), id: message['id'], sessionID: id },
      parts: of('part')
        .filter((part) => part['message_id'] === message['id'])
        .map((part) => Object.assign(dataOf(part), { id: part['id'], messageID: message['id'], sessionID: id })),
    })),
  }
}

/** Give the rows the kept values, in one transaction. A table or column that is not there any more is left out. */
const setColumns = (path: string, rows: readonly KeptRow[]): void => {
  const db = new DatabaseSync(path, { timeout: 5000 })
  try {
    db.exec('begin immediate; pragma defer_foreign_keys = on')
    for (const { table, row } of rows) {
      const columns = db.prepare('select name, pk from pragma_table_info(?)').all(table)
      const own = columns
        .map(({ name }) => String(name))
        .filter((name) => Object.hasOwn(row, name) && hasProject(db, name, row))
      const keys = columns.flatMap(({ name, pk }) => (Number(pk) > 0 ? [quoted(String(name))] : []))
      if (keys.length === 0 || own.length === 0) continue
      db.prepare(
        `insert into ${quoted(table)} (${own.map(quoted).join(', ')}) values (${own.map(() => '?').join(', ')})
           on conflict (${keys.join(', ')}) do update set ${own.map((name) => `${quoted(name)} = excluded.${quoted(name)}`).join(', ')}`,
      ).run(...own.map((name) => valueOf(row[name])))
    }
    db.exec('commit')
  } finally {
    db.close()
  }
}

/** The project of another machine may not be in this database: then the session has the one that opencode gave it. */
const hasProject = (db: DatabaseSync, column: string, row: JsonObject): boolean =>
  column !== 'project_id' || db.prepare('select 1 from project where id = ?').get(valueOf(row[column])) !== undefined

/** A value as `rowsIn` writes it. */
const valueOf = (value: unknown): SQLInputValue => {
  if (isObject(value)) {
    const { $integer, $bytes } = value as { readonly $integer?: unknown; readonly $bytes?: unknown }
    if (typeof $integer === 'string' && /^-?\d+$/.test($integer)) return BigInt($integer)
    if (typeof $bytes === 'string') return Buffer.from($bytes, 'base64')
  }
  if (value === null || typeof value === 'string' || typeof value === 'number') return value
  throw new Unreadable('the kept rows have another form; --to FOLDER writes them')
}
