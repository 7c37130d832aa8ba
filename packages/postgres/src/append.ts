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
  after: Log
  readonly steps: Step[]
}

interface Step {
  readonly append: CheckedAppend
  readonly growth: GrownLog
}

/** Returns the documents of an append for the search index; undefined if they are to be added later. */
type DocumentsOf = (append: CheckedAppend, rows: readonly GrownRow[]) => readonly Document[] | undefined

export const noneOf = (log: Log): PlannedAppends => ({ before: log, after: log, steps: [] })

/** Adds an append to those planned. False if it does not continue them. */
export const planNextAppend = (planned: PlannedAppends, append: CheckedAppend): boolean => {
  const { after: log, steps } = planned
  if (!sameHead(append.expected, log.head) || !hasKey(log.meta, append.ownKey)) return false
  const growth = growLog(log, append, hash)
  const { head, entries, tokens, peaks } = growth
  const appended = growth.rows.length === 0 ? log.appended : growth.appended
  planned.after = { ...log, head, entries, tokens, peaks, appended }
  steps.push({ append, growth })
  return true
}

/** The tables of values that a statement gets: an array for each column, or a value for each if every table has one row. */
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
  const logs = growths.length === 1 ? growths : growths.toSorted((a, b) => a.before.key - b.before.key)
  const lists: { readonly [T in Table]: (readonly unknown[])[] } = {
    ...{ planned: [], rows: [], operations: [], blocks: [] },
    ...{ mentions: [], claims: [], documents: [], indexed: [] },
  }
  const blocks: (readonly [log: number, block: Block])[] = []
  for (const { before, after, steps } of logs) {
    const { key, head: from } = before
    const { head, entries, tokens, peaks, appended = null } = after
    const added = tokens - before.tokens
    const nodes = Buffer.concat(peaks)
    lists.planned.push([key, from.size, bytea(from.root), head.size, bytea(head.root), entries, added, nodes, appended])
    const documents: Document[] = []
    let isIndexed = true
    for (const { append, growth } of steps) {
      const { answer, rows } = growth
      if (append.operation !== undefined)
        lists.operations.push([key, append.operation, answer.from, answer.head.size, bytea(answer.head.root)])
      for (const { row, position, kind, index, node } of rows) {
        const [body, place] = [escapeBody(row.body), placeOf({ kind, index })]
        const named = row.blocks.length === 0 ? undefined : new Set(row.blocks)
        const [salt, erased, count] = [byteaOrNull(row.salt), byteaOrNull(row.erased), named?.size ?? null]
        lists.rows.push([key, position, place, node, body, row.at, salt, erased, count])
        for (const block of named ?? []) lists.mentions.push([key, position, bytea(block)])
      }
      for (const block of append.blocks) blocks.push([key, block])
      if (claims(append)) lists.claims.push([key, append.lease?.number ?? null])
      const found = isIndexed ? documentsOf(append, rows) : undefined
      if (found === undefined) isIndexed = false
      else for (const document of found) documents.push(document)
    }
    if (!isIndexed) continue
    for (const { position, part, terms } of documents) lists.documents.push([key, position, part, terms])
    lists.indexed.push([key, from.size, head.size])
  }
  if (lists.mentions.length > 0) {
    const inOrder = blocks.toSorted(([, { id: a }], [, { id: b }]) => (a < b ? -1 : a > b ? 1 : 0))
    for (const [log, { id, bytes }] of inOrder) lists.blocks.push([log, bytea(id), bytes])
  } // a block that no row references is not stored
  const names = groups.filter((group) => group === always || group.some((table) => lists[table].length > 0)).flat()
  const isSingle = names.every((table) => lists[table].length === 1)
  const values: unknown[] = [scope]
  for (const table of names) {
    if (isSingle) for (const value of lists[table][0] as readonly unknown[]) values.push(value)
    else for (const column of Object.keys(tables[table]).keys()) values.push(lists[table].map((row) => row[column]))
  }
  const shape = `${schema} ${isSingle} ${names.join()}`
  const text = texts.get(shape) ?? writeText(schema, names, isSingle)
  texts.set(shape, text)
  return { text, values, documents: lists.indexed.length > 0 }
}

/** The tables of a statement, in order: it has the first ones, and of the others those groups that have a value. */
const always: readonly Table[] = ['planned', 'rows']
const groups: readonly (readonly Table[])[] = [
  always,
  ['operations'],
  ['blocks', 'mentions'],
  ['claims'],
  ['documents', 'indexed'],
]

/** The texts of statements, by their schemas and shapes. */
const texts = new RecentMap<string, string>(64)

const writeText = (schema: string, names: readonly Table[], isSingle: boolean): string => {
  /** The values of a table, as one. */
  const values = (table: Table): string => {
    const before = names.slice(0, names.indexOf(table)).flatMap((name) => Object.keys(tables[name]))
    const columns = Object.entries(tables[table])
    const input = columns.map(([, type], column) => `$${before.length + 2 + column}::${type}${isSingle ? '' : '[]'}`)
    const rows = isSingle ? `(select ${input.join(', ')})` : `unnest(${input.join(', ')})`
    return `${rows} as v (${columns.map(([name]) => name).join(', ')})`
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

/** Bytes as a value of a statement, from hexadecimal digits. */
const bytea = (digits: string): string => `\\x${digits}`
const byteaOrNull = (digits: string | undefined): string | null => (digits === undefined ? null : bytea(digits))

export const bytesOf = (digits: string): Buffer => Buffer.from(digits, 'hex')
