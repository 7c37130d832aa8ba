/** Appends to several logs in one statement: all of a log's rows, operations and blocks are stored, or none. */
import {
  type Block,
  type CheckedAppend,
  claims,
  type GrownRow,
  growLog,
  type GrownLog,
  hasKey,
  placeOf,
  sameHead,
} from 'indelible/internal/store'
import { RecentMap } from 'indelible/internal/sequence'
import type { Document } from './documents.ts'
import { sizedAt, usedAt, type Log } from './log.ts'
import { escapeBody } from './rows.ts'
import { hash } from './sum.ts'

/** The planned growth of a log: its state before, after, and the planned appends. */
export interface PlannedAppends {
  readonly before: Log
  readonly after: Log
  readonly steps: readonly Step[]
}

interface Step {
  readonly append: CheckedAppend
  readonly growth: GrownLog
}

/** Returns the documents of an append for the search index; undefined if they are to be added later. */
type DocumentsOf = (append: CheckedAppend, rows: readonly GrownRow[]) => readonly Document[] | undefined

/** A log with one more planned append; undefined if the append does not continue it. */
export const planNextAppend = (
  { before, after: log, steps }: PlannedAppends,
  append: CheckedAppend,
): PlannedAppends | undefined => {
  if (!sameHead(append.expected, log.head) || !hasKey(log.meta, append.ownKey)) return undefined
  const step = growLog(log, append, hash)
  const { head, entries, tokens, peaks } = step
  const appended = step.rows.length === 0 ? log.appended : step.appended
  return {
    before,
    after: { ...log, head, entries, tokens, peaks, appended },
    steps: [...steps, { append, growth: step }],
  }
}

/** The tables of values that a statement gets, with an array for each column. */
const tables = {
  planned: {
    ...{ log: 'bigint', size: 'bigint', root: 'bytea', new_size: 'bigint', new_root: 'bytea' },
    ...{ entries: 'bigint', tokens: 'bigint', peaks: 'bytea', appended: 'bigint' },
  },
  rows: {
    ...{ log: 'bigint', position: 'bigint', place: 'bigint', node: 'bytea', body: 'text', at: 'bigint' },
    ...{ salt: 'bytea', erased: 'bytea', blocks: 'bigint' },
  },
  operations: { log: 'bigint', id: 'text', base: 'bigint', size: 'bigint', root: 'bytea' },
  blocks: { log: 'bigint', id: 'bytea', bytes: 'bytea' },
  mentions: { log: 'bigint', position: 'bigint', block: 'bytea' },
  claims: { log: 'bigint', number: 'bigint' },
  documents: { log: 'bigint', position: 'bigint', part: 'smallint', terms: 'text' },
  indexed: { log: 'bigint', first: 'bigint', until: 'bigint' },
} as const
type Table = keyof typeof tables

interface Statement {
  readonly text: string
  readonly values: readonly unknown[]
  readonly documents: boolean
}

/**
 * A statement that returns the keys of the logs that have grown. A log does not grow if it is no longer at
 * its head, if the operation was already appended, if one of the blocks exists and is damaged, or if a
 * claimed lease does not match. A claimed lease is locked until the commit, so no one can take it over before. A reference to a missing block violates a foreign key, and then nothing is done.
 *
 * Everything is ordered by keys and ids, so that two concurrent statements can't deadlock. Unneeded
 * parts are left out, which saves the server time.
 */
export const appendStatement = (
  schema: string,
  scope: string,
  growths: readonly PlannedAppends[],
  documentsOf: DocumentsOf,
): Statement => {
  const logs = growths.length === 1 ? growths : growths.toSorted((one, other) => one.before.key - other.before.key)
  const lists: { readonly [T in Table]: (readonly unknown[])[] } = {
    ...{ planned: [], rows: [], operations: [], blocks: [] },
    ...{ mentions: [], claims: [], documents: [], indexed: [] },
  }
  const blocks: (readonly [log: number, block: Block])[] = []
  for (const { before, after, steps } of logs) {
    lists.planned.push([
      ...[before.key, before.head.size, bytesOf(before.head.root), after.head.size, bytesOf(after.head.root)],
      ...[after.entries, after.tokens - before.tokens, Buffer.concat(after.peaks), after.appended ?? null],
    ])
    const found = steps.map(({ append, growth: { rows } }) => documentsOf(append, rows))
    if (found.every((each) => each !== undefined)) {
      for (const { position, part, terms } of found.flat()) lists.documents.push([before.key, position, part, terms])
      lists.indexed.push([before.key, before.head.size, after.head.size])
    }
    for (const { append, growth } of steps) {
      const { from, head } = growth.answer
      if (append.operation !== undefined)
        lists.operations.push([before.key, append.operation, from, head.size, bytesOf(head.root)])
      for (const { row, position, kind, index, node } of growth.rows) {
        const { body, at, salt, erased, blocks: named } = row
        const columns = [before.key, position, placeOf({ kind, index }), node, escapeBody(body), at]
        const ids = named.length === 0 ? undefined : new Set(named)
        lists.rows.push([...columns, bytesOrNull(salt), bytesOrNull(erased), ids?.size ?? null])
        for (const block of ids ?? []) lists.mentions.push([before.key, position, bytesOf(block)])
      }
      for (const block of append.blocks) blocks.push([before.key, block])
      if (claims(append)) lists.claims.push([before.key, append.lease?.number ?? null])
    }
  }
  const { operations, mentions, claims: claimed, indexed } = lists
  const names: Table[] = ['planned', 'rows']
  if (operations.length > 0) names.push('operations')
  if (mentions.length > 0) {
    const inOrder = blocks.toSorted(([, { id: one }], [, { id: other }]) => (one < other ? -1 : one > other ? 1 : 0))
    for (const [log, { id, bytes }] of inOrder) lists.blocks.push([log, bytesOf(id), bytes])
    names.push('blocks', 'mentions')
  } // a block that no row references is not stored
  if (claimed.length > 0) names.push('claims')
  if (indexed.length > 0) names.push('documents', 'indexed')
  const values: unknown[] = [scope]
  for (const table of names)
    for (const column of Object.keys(tables[table]).keys()) values.push(lists[table].map((row) => row[column]))
  return { text: textOf(schema, names), values, documents: indexed.length > 0 }
}

/** The texts of statements, by schema and tables. There are sixteen for each schema. */
const texts = new RecentMap<string, string>(256)

const textOf = (schema: string, names: readonly Table[]): string => {
  const key = `${schema} ${names.join()}`
  const known = texts.get(key)
  if (known !== undefined) return known
  const text = writeText(schema, names)
  texts.set(key, text)
  return text
}

const writeText = (schema: string, names: readonly Table[]): string => {
  /** The values of a table, as one. */
  const values = (table: Table): string => {
    const before = names.slice(0, names.indexOf(table)).flatMap((name) => Object.keys(tables[name]))
    const columns = Object.entries(tables[table])
    const lists = columns.map(([, type], column) => `$${before.length + 2 + column}::${type}[]`)
    return `unnest(${lists.join(', ')}) as v (${columns.map(([name]) => name).join(', ')})`
  }
  const has = (table: Table): boolean => names.includes(table)
  const parts = [`planned as (select * from ${values('planned')})`]
  const conditions = ['l.scope = $1::text and l.key = g.log and l.size = g.size and l.root = g.root']
  const after = [
    `added_rows as (
      insert into ${schema}.row (scope, segment, position, place, node, body, at, salt, erased, blocks)
      select $1::text, v.log, v.position, v.place, v.node, v.body, v.at, v.salt, v.erased, v.blocks
      from ${values('rows')} join grown on grown.key = v.log
    )`,
  ]
  if (has('operations')) {
    parts.push(`operations as (select * from ${values('operations')})`)
    conditions.push(
      `not exists (select 1 from operations n join ${schema}.operation o on o.scope = $1::text and o.log = n.log and o.id = n.id where n.log = g.log)`,
    )
    after.push(`added_operations as (
      insert into ${schema}.operation (scope, log, id, base, size, root)
      select $1::text, n.log, n.id, n.base, n.size, n.root from operations n join grown on grown.key = n.log
    )`)
  }
  if (has('mentions')) {
    parts.push(`blocks as (select * from ${values('blocks')})`)
    conditions.push(
      `not exists (select 1 from blocks n join ${schema}.block b on b.scope = $1::text and b.id = n.id where n.log = g.log and b.bytes <> n.bytes)`,
    )
    after.push(
      `added_blocks as (
      insert into ${schema}.block (scope, id, kept, bytes)
      select $1::text, n.id, false, n.bytes from blocks n join grown on grown.key = n.log
      on conflict (scope, id) do nothing
    )`,
      `added_mentions as (
      insert into ${schema}.mention (scope, segment, position, block)
      select $1::text, v.log, v.position, v.block from ${values('mentions')} join grown on grown.key = v.log
    )`,
    )
  }
  if (has('claims')) {
    parts.push(
      `claims as (select * from ${values('claims')})`,
      `leases as materialized (
      select s.log, s.number from ${schema}.lease s
      where s.scope = $1::text and s.log in (select log from claims) and s.holder is not null
        and (s.expires > clock_timestamp() or exists (select 1 from claims c where c.log = s.log and c.number = s.number))
      for share
    )`,
    )
    conditions.push(
      'not exists (select 1 from claims c left join leases h on h.log = c.log where c.log = g.log and c.number is distinct from h.number)',
    )
  }
  if (has('indexed'))
    after.push(
      `added_documents as (
      insert into ${schema}.search (scope, segment, position, part, terms)
      select $1::text, v.log, v.position, v.part, v.terms::tsvector from ${values('documents')} join grown on grown.key = v.log
    )`,
      `indexed as (
      insert into ${schema}.search_until (scope, segment, until)
      select $1::text, v.log, v.until from ${values('indexed')} join grown on grown.key = v.log
      where v.first = coalesce(
        (select u.until from ${schema}.search_until u where u.scope = $1::text and u.segment = v.log),
        (select g.base from ${schema}.segment g where g.scope = $1::text and g.key = v.log)
      )
      on conflict (scope, segment) do update set until = excluded.until
    )`,
    )
  const grow = `grown as (
      update ${schema}.log l set size = g.new_size, root = g.new_root, entries = g.entries, tokens = least(l.tokens, ${Number.MAX_SAFE_INTEGER}) + g.tokens, peaks = g.peaks, appended = g.appended,
        used = ${usedAt('coalesce(g.appended, l.created)')}, sized = ${sizedAt('g.entries')}
      from planned g
      where ${conditions.join(' and ')}
      returning l.key
    )`
  return `with ${[...parts, grow, ...after].join(', ')} select key from grown`
}

const bytesOrNull = (digits: string | undefined): Buffer | null => (digits === undefined ? null : bytesOf(digits))

export const bytesOf = (digits: string): Buffer => Buffer.from(digits, 'hex')
