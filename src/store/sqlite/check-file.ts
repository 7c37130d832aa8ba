/** Checks the file itself: its pages and indexes, its schema, and the next keys of its tables. */
import { DatabaseSync } from 'node:sqlite'
import { findingsOf, type Facts, type Finding, type Raw } from './check-facts.ts'
import { applicationId, applyFormats, formats, shortSql } from './schema.ts'
import { isOfSearch } from './search.ts'

/** The maximum number of lines to read from SQLite's integrity report. */
const mostLines = 100

export function* checkFile(facts: Facts): Generator<Finding | undefined> {
  let reindexed = false
  const reindex = (): string => {
    if (!reindexed) facts.db.exec('reindex')
    reindexed = true
    return 'the indexes were rebuilt from their tables'
  }
  for (const row of facts.all(`pragma integrity_check(${mostLines})`)) {
    const [line] = Object.values(row)
    if (line === 'ok') continue
    const isIndex = /^(?:row \d+ missing from index|wrong # of entries in index|non-unique entry in index)/.test(
      String(line),
    )
    yield findingsOf('file', undefined, String(line).trim(), isIndex ? reindex : undefined)
  }
}

export function* checkSchema(facts: Facts): Generator<Finding | undefined> {
  const text =
    "select type, name, tbl_name, sql from sqlite_schema where name not like 'sqlite_stat%' order by type, name"
  const own = new DatabaseSync(':memory:')
  try {
    applyFormats(own, formats)
    const [expected, actual] = [own, facts.db].map(
      (db) =>
        new Map(
          db
            .prepare(text)
            .all()
            .map(({ sql, ...row }) => [
              `${String(row['type'])} ${String(row['name'])}`,
              JSON.stringify({ ...row, sql: typeof sql === 'string' ? shortSql(sql) : sql }),
            ]),
        ),
    ) as [Map<string, string>, Map<string, string>]
    for (const [name, made] of expected)
      if (actual.get(name) !== made)
        yield findingsOf(
          'schema',
          name,
          actual.has(name) ? 'it was altered' : 'it is missing',
          remakeIndex(facts, JSON.parse(made) as Raw),
        )
    for (const name of actual.keys())
      if (!expected.has(name) && !isOfSearch(name.replace(/^table /, '')))
        yield findingsOf('schema', name, 'it does not belong to this library')
  } finally {
    own.close()
  }
  const { application_id: application } = facts.db.prepare('pragma application_id').get() as Raw
  if (application !== applicationId) yield findingsOf('file', undefined, 'it is not marked as a store')
}

/**
 * The repair that rebuilds an index from its table. Undefined if it is not an index, or is one that
 * SQLite creates by itself.
 */
const remakeIndex = (facts: Facts, { type, name, sql }: Raw): (() => string) | undefined => {
  if (type !== 'index' || typeof sql !== 'string') return undefined
  return () => {
    facts.db.exec(`drop index if exists ${String(name)}; ${sql}`)
    return 'it was rebuilt from its table'
  }
}

export function* checkSequences(facts: Facts): Generator<Finding | undefined> {
  const names = ['scope', 'segment', 'log', 'block'] as const
  const given = new Map(facts.all('select name, seq from sqlite_sequence').map(({ name, seq }) => [name, seq]))
  for (const name of names) {
    const last = facts.one(`select max(key) as last from ${name}`)['last']
    const seq = given.get(name)
    if (last === null && seq === undefined) continue
    const most = name === 'segment' ? 2n ** 31n - 1n : BigInt(Number.MAX_SAFE_INTEGER)
    const is = typeof seq === 'bigint' && seq >= 0n && (last === null || seq >= (last as bigint)) && seq <= most
    if (is) continue
    yield findingsOf('sequence', name, `the last key is ${String(last)}, but the sequence is at ${String(seq)}`, () => {
      facts.db.prepare('delete from sqlite_sequence where name = ?').run(name)
      facts.db.prepare('insert into sqlite_sequence (name, seq) values (?, ?)').run(name, (last as bigint | null) ?? 0n)
      return `set to ${String(last ?? 0)}`
    })
  }
  for (const name of given.keys())
    if (!names.includes(name as (typeof names)[number]))
      yield findingsOf('sequence', String(name), 'there is no such table')
}
