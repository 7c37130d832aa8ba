/** Opens a schema: checks its owner and format, and upgrades it. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'indelible/internal/json'
import { formatFault, type Format, type FoundFormat, type OpenStoreFault } from 'indelible/internal/store'
import { isUnsupported, stateOf, type Database, type Place, type Query, type Rows } from './database.ts'
import { hasIndexIn, indexTables, type Documents } from './documents.ts'
import { formatsFor, unquoteIdentifier } from './schema.ts'

/** "INDL": the class of the advisory lock for upgrading a schema. */
const lockClass = 0x494e444c

const lockOf = (schema: string): string => `select pg_advisory_xact_lock(${lockClass}, ${hashOf(schema)})`

/** Prepares a schema for use. A schema in the current format is only read, in one statement. */
export const prepare = async (
  db: Database,
  documents: Documents,
  create: boolean,
): Promise<Either<OpenStoreFault, void>> => {
  const { place } = db
  const formats = formatsFor(place.schema)
  const known = await currentFormat(db, place)
  const isCurrent =
    known?.found.number === formats.length && formatFault(place.name, known.found, formats) === undefined
  if (isCurrent) {
    documents.found(known.hasIndex)
    return right(undefined)
  }
  if (!create || known !== undefined) {
    const found = await formatOf(db.read, place, formats)
    if (isLeft(found)) return found
    if (found.right === undefined && !create) return left({ _tag: 'NoStore', path: place.name })
  }
  const bringUpToDate = (query: Query): Promise<Either<OpenStoreFault, void>> => update(query, place, formats)
  let updated: Either<OpenStoreFault, void>
  try {
    updated = await db.transaction(bringUpToDate, lockOf(place.schema))
  } catch (error) {
    if (!isUnsupported(error)) throw error
    updated = await db.transaction(bringUpToDate) // a concurrent upgrade is rejected and retried
  }
  if (!isLeft(updated)) await documents.look()
  return updated
}

/** What the table `indelible` says, and whether there is a search index. Undefined if the table can't be read. */
const currentFormat = async (
  db: Database,
  { schema }: Place,
): Promise<{ readonly found: FoundFormat; readonly hasIndex: boolean } | undefined> => {
  try {
    const [row] = await db.read(
      `select format, fingerprint, (${indexTables}) as tables from ${schema}.indelible order by format desc limit 1`,
      [unquoteIdentifier(schema)],
    )
    return row && { found: foundIn(row), hasIndex: hasIndexIn(row) }
  } catch (error) {
    if (stateOf(error)?.startsWith('42') === true || stateOf(error) === '3F000') return undefined // it is not there, or not ours
    throw error
  }
}

const update = async (
  query: Query,
  place: Place,
  formats: readonly Format[],
): Promise<Either<OpenStoreFault, void>> => {
  const found = await formatOf(query, place, formats) // again: another process may have upgraded it first
  if (isLeft(found)) return found
  const { schema } = place
  const statements: string[] = []
  if (found.right === undefined) {
    const [settings] = await query(`select current_setting('server_encoding') as encoding`)
    const encoding = settings?.['encoding']
    if (encoding !== 'UTF8')
      return left({
        _tag: 'NotAStore',
        path: place.name,
        found: `in a database with the encoding ${String(encoding)}, but a store needs UTF8`,
      })
    statements.push(
      `create schema if not exists ${schema}`,
      `create table if not exists ${schema}.indelible (format integer primary key, fingerprint text not null)`,
    )
  }
  const last = formats.at(-1) as Format // the list is not empty
  for (const { sql } of formats.slice(found.right ?? 0)) statements.push(sql)
  statements.push(
    `delete from ${schema}.indelible`,
    `insert into ${schema}.indelible (format, fingerprint) values (${formats.length}, '${last.fingerprint}')`,
  )
  await query(statements.join(';\n'))
  return right(undefined)
}

/** The number of its format. Undefined if there is no store, or an incomplete one. */
const formatOf = async (
  query: Query,
  place: Place,
  formats: readonly Format[],
): Promise<Either<OpenStoreFault, number | undefined>> => {
  // Uses the catalog, which also lists tables that this user can't read: such a schema is not empty.
  const tables =
    "pg_catalog.pg_class t join pg_catalog.pg_namespace n on n.oid = t.relnamespace where n.nspname = $1::text and t.relkind in ('r', 'p', 'v', 'f')"
  const [there] = await query(
    `select exists (select 1 from ${tables}) as taken,
       array(select c.attname::text from pg_catalog.pg_attribute c
         where c.attnum > 0 and c.attrelid in (select t.oid from ${tables} and t.relname = 'indelible')) as columns`,
    [unquoteIdentifier(place.schema)],
  )
  const columns = (there?.['columns'] ?? []) as readonly string[]
  if (there?.['taken'] !== true) return right(undefined)
  if (!columns.includes('format'))
    return left({ _tag: 'NotAStore', path: place.name, found: 'a schema of another program' })
  const [row] = await query(`select * from ${place.schema}.indelible order by format desc limit 1`)
  if (row === undefined && columns.includes('fingerprint')) return right(undefined)
  const found = foundIn(row ?? {})
  // A format without a fingerprint predates the current numbering of formats, however high its number.
  const problem =
    found.fingerprint === undefined
      ? ({ _tag: 'OlderStore', path: place.name, found: found.number } as const)
      : formatFault(place.name, found, formats)
  return problem === undefined ? right(found.number) : left(problem)
}

const foundIn = ({ format, fingerprint }: Rows[number]): FoundFormat => ({
  number: Number(format ?? 0),
  fingerprint: typeof fingerprint === 'string' ? fingerprint : undefined,
})

/** Hashes a text to a number, equal in every process. */
const hashOf = (text: string): number => {
  let hash = 0
  for (const char of text) hash = (Math.imul(hash, 31) + (char.codePointAt(0) ?? 0)) | 0
  return hash
}
