/** Opening a schema: whose it is, of which version, and bringing it up to date. */
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from '../../json/index.ts'
import type { OpenStoreFault } from '../fault.ts'
import { stateOf, type Database, type Query } from './database.ts'
import type { Place } from './fault.ts'
import { stepsFor, type Step } from './schema.ts'

/** "INDL", and what is locked under it: whoever brings a schema up to date. */
const lockClass = 0x494e444c

const lock = 'select pg_advisory_xact_lock($1::int, $2::int)'
/** As clusters say it that have no such lock: there is no such function, or it is not supported. */
const noSuchLock: ReadonlySet<string> = new Set(['42883', '0A000'])

const undefinedTable = '42P01'
const undefinedSchema = '3F000'
const undefinedColumn = '42703'

/** The schema ready for use. One that is at today's version is only looked at. */
export const prepare = async (db: Database, place: Place, create: boolean): Promise<Either<OpenStoreFault, void>> => {
  const steps = stepsFor(place.schema)
  const found = await versionOf((text, values) => db.read(text, values), place)
  if (found === steps.length) return right(undefined)
  if (typeof found === 'number' && found > steps.length) return left(newer(place, found, steps.length))
  if (found === 'foreign') return left(notOurs(place))
  if (found === undefined && !create) {
    const { ours, taken } = await tablesIn((text, values) => db.read(text, values), place)
    return left(taken && !ours ? notOurs(place) : { _tag: 'NoStore', path: place.name })
  }
  const bringUpToDate = (query: Query): Promise<Either<OpenStoreFault, void>> => update(query, place, steps)
  try {
    return await db.transaction(async (query) => {
      await query(lock, [lockClass, hashOf(place.schema)])
      return bringUpToDate(query)
    })
  } catch (error) {
    if (!noSuchLock.has(stateOf(error) ?? '')) throw error
    return db.transaction(bringUpToDate) // who does the same at the same time is refused, and tries again
  }
}

const update = async (query: Query, place: Place, steps: readonly Step[]): Promise<Either<OpenStoreFault, void>> => {
  const { ours, taken } = await tablesIn(query, place)
  if (taken && !ours) return left(notOurs(place))
  if (!ours) {
    const [settings] = await query(`select current_setting('server_encoding') as encoding`)
    const encoding = settings?.['encoding']
    if (encoding !== 'UTF8')
      return left({
        _tag: 'NotAStore',
        path: place.name,
        found: `in a database of the encoding ${String(encoding)}, and a store needs UTF8`,
      })
    await query(`create schema if not exists ${place.schema}`)
    await query(`create table if not exists ${place.schema}.indelible (format integer primary key)`)
  }
  const version = (await versionOf(query, place)) ?? 0 // again: another process may have been quicker
  if (version === 'foreign') return left(notOurs(place))
  if (version > steps.length) return left(newer(place, version, steps.length))
  for (const step of steps.slice(version))
    if (typeof step === 'string') await query(step)
    else await step(query)
  await query(`delete from ${place.schema}.indelible`)
  await query(`insert into ${place.schema}.indelible (format) values (${steps.length})`)
  return right(undefined)
}

const notOurs = ({ name }: Place): OpenStoreFault => ({
  _tag: 'NotAStore',
  path: name,
  found: 'a schema of another program',
})

/** Whether there are tables, and the one of them that says that they are ours. */
const tablesIn = async (
  query: Query,
  { schema }: Place,
): Promise<{ readonly ours: boolean; readonly taken: boolean }> => {
  const [there] = await query(
    `select exists (select 1 from information_schema.tables where table_schema = $1::text and table_name = 'indelible') as ours, exists (select 1 from information_schema.tables where table_schema = $1::text) as taken`,
    [unquoted(schema)],
  )
  return { ours: there?.['ours'] === true, taken: there?.['taken'] === true }
}

/** Undefined where there is no store, or none that is finished; `foreign` where the table that says it says something else. */
const versionOf = async (query: Query, { schema }: Place): Promise<number | 'foreign' | undefined> => {
  try {
    const [row] = await query(`select max(format) as format from ${schema}.indelible`)
    const format = row?.['format']
    return typeof format === 'number' || typeof format === 'string' ? Number(format) : undefined
  } catch (error) {
    const state = stateOf(error)
    if (state === undefinedTable || state === undefinedSchema) return undefined
    if (state === undefinedColumn) return 'foreign'
    throw error
  }
}

const newer = ({ name }: Place, found: number, supported: number): OpenStoreFault => ({
  _tag: 'NewerStore',
  path: name,
  found,
  supported,
})

const unquoted = (identifier: string): string => identifier.slice(1, -1).replaceAll('""', '"')

/** A number for a text, the same in every process. */
const hashOf = (text: string): number => {
  let hash = 0
  for (const char of text) hash = (Math.imul(hash, 31) + (char.codePointAt(0) ?? 0)) | 0
  return hash
}
