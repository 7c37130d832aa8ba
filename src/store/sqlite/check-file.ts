/** Checks the file itself: its pages and indexes, its schema, and the next keys of its tables. */
import { DatabaseSync } from 'node:sqlite'
import { findingOf, type Facts, type Findings, type Raw } from './check-facts.ts'
import { applicationId, applyFormats, formats, shortSql } from './schema.ts'
import { isOfSearch } from './search.ts'

/** SQLite's own check of pages and indexes, with at most this many lines. It reads the whole file in one step. */
export const integrityCheck = 'pragma integrity_check(100)'

/** @param report the rows of `integrityCheck` */
export function* checkFile(facts: Facts, report: readonly Raw[]): Findings {
  let reindexed = false
  const reindex = (): string => {
    if (!reindexed) facts.db.exec('reindex')
    reindexed = true
    return 'the indexes were rebuilt from their tables'
  }
  for (const row of report) {
    const [line] = Object.values(row)
    if (line === 'ok') continue
    const isIndex = /^(?:row \d+ missing from index|wrong # of entries in index|non-unique entry in index)/.test(
      String(line),
    )
    yield findingOf('file', undefined, String(line).trim(), isIndex ? reindex : undefined)
  }
}

const inSchema = "from sqlite_schema where name not like 'sqlite_stat%' order by type, name"

export function* checkSchema(facts: Facts): Findings {
  const own = new DatabaseSync(':memory:')
  try {
    applyFormats(own, formats)
    const [expected, actual] = [own, facts.db].map((db) => {
      const rows = db
        .prepare(`select type || ' ' || name as title, type, name, tbl_name, sql ${inSchema}`)
        .all() as Raw[]
      return new Map(rows.map((row) => [String(row['title']), row['sql'] === null ? row : { ...row, sql: shortSql(String(row['sql'])) }])) // oxfmt-ignore
    }) as [Map<string, Raw>, Map<string, Raw>]
    for (const [title, made] of expected) {
      const found = actual.get(title)
      if (JSON.stringify(found) === JSON.stringify(made)) continue
      yield findingOf(
        'schema',
        title,
        found === undefined ? 'it is missing' : 'it was altered',
        remakeIndex(facts, made),
      )
    }
    for (const title of actual.keys())
      if (!expected.has(title) && !isOfSearch(title.replace(/^table /, '')))
        yield findingOf('schema', title, 'it does not belong to this library')
  } finally {
    own.close()
  }
  if (facts.all('pragma application_id')[0]?.['application_id'] !== BigInt(applicationId))
    yield findingOf('file', undefined, 'it is not marked as a store')
}

/** The repair that rebuilds an index from its table. Undefined if it is none, or one that SQLite creates by itself. */
const remakeIndex = (facts: Facts, { type, name, sql }: Raw): (() => string) | undefined => {
  if (type !== 'index' || typeof sql !== 'string') return undefined
  return () => {
    facts.db.exec(`drop index if exists ${String(name)}; ${sql}`)
    return 'it was rebuilt from its table'
  }
}

export function* checkSequences(facts: Facts): Findings {
  const stored = new Map(facts.all('select name, seq from sqlite_sequence').map(({ name, seq }) => [name, seq]))
  for (const name of ['scope', 'segment', 'log', 'block']) {
    const last = facts.all(`select max(key) as last from ${name}`)[0]?.['last'] as bigint | null // an aggregate always returns a row
    const seq = stored.get(name)
    stored.delete(name)
    const most = name === 'segment' ? 2n ** 31n - 1n : BigInt(Number.MAX_SAFE_INTEGER)
    if (seq === undefined ? last === null : typeof seq === 'bigint' && seq >= (last ?? 0n) && seq <= most) continue
    yield findingOf('sequence', name, `the last key is ${last}, but the sequence is at ${String(seq)}`, () => {
      facts.db.prepare('delete from sqlite_sequence where name = ?').run(name)
      facts.db.prepare('insert into sqlite_sequence (name, seq) values (?, ?)').run(name, last ?? 0n)
      return `set to ${last ?? 0}`
    })
  }
  for (const name of stored.keys()) yield findingOf('sequence', String(name), 'there is no such table')
}
