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

/** The values of a statement, numbered in the order of their addition. */
class Values {
  readonly list: unknown[]

  constructor(scope: string) {
    this.list = [scope]
  }

  /** Rows as a table in a statement, with an array for each column. */
  table(name: string, columns: Readonly<Record<string, string>>, rows: readonly (readonly unknown[])[]): string {
    const names = Object.keys(columns)
    const first = this.list.length + 1
    for (const column of names.keys()) this.list.push(rows.map((row) => row[column]))
    const types = Object.values(columns).map((type, column) => `$${first + column}::${type}[]`)
    return `unnest(${types.join(', ')}) as ${name} (${names.join(', ')})`
  }
}

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
  const logs = growths.toSorted((one, other) => one.before.key - other.before.key)
  const given = logs.map(({ before, after }) => [
    before.key,
    before.head.size,
    bytesOf(before.head.root),
    after.head.size,
    bytesOf(after.head.root),
    after.entries,
    after.tokens - before.tokens,
    Buffer.concat(after.peaks),
    after.appended ?? null,
  ])
  const ran: unknown[][] = []
  const rows: unknown[][] = []
  const mentions: unknown[][] = []
  const claimed: unknown[][] = []
  const documents: unknown[][] = []
  const indexed: unknown[][] = []
  const blocks: (readonly [log: number, block: Block])[] = []
  for (const { before, after, steps } of logs) {
    const found = steps.map(({ append, growth: { rows } }) => documentsOf(append, rows))
    if (found.every((each) => each !== undefined)) {
      for (const { position, part, terms } of found.flat()) documents.push([before.key, position, part, terms])
      indexed.push([before.key, before.head.size, after.head.size])
    }
    for (const { append, growth: grew } of steps) {
      const { from, head } = grew.answer
      if (append.operation !== undefined) ran.push([before.key, append.operation, from, head.size, bytesOf(head.root)])
      for (const { row, position, kind, index, node } of grew.rows) {
        const { body, at, salt, erased, blocks: named } = row
        const place = placeOf({ kind, index })
        const [salted, leaf] = [salt, erased].map((digits) => (digits === undefined ? null : bytesOf(digits)))
        const blocks = new Set(named)
        rows.push([before.key, position, place, node, escapeBody(body), at, salted, leaf, blocks.size || null])
        for (const block of blocks) mentions.push([before.key, position, bytesOf(block)])
      }
      for (const block of append.blocks) blocks.push([before.key, block])
      if (claims(append)) claimed.push([before.key, append.lease?.number ?? null])
    }
  }
  const values = new Values(scope)
  const parts: string[] = []
  const conditions: string[] = []
  parts.push(
    `given as (select * from ${values.table('g', { log: 'bigint', size: 'bigint', root: 'bytea', new_size: 'bigint', new_root: 'bytea', entries: 'bigint', tokens: 'bigint', peaks: 'bytea', appended: 'bigint' }, given)})`,
  )
  const added = values.table(
    'r',
    {
      log: 'bigint',
      position: 'bigint',
      place: 'bigint',
      node: 'bytea',
      body: 'text',
      at: 'bigint',
      salt: 'bytea',
      erased: 'bytea',
      blocks: 'bigint',
    },
    rows,
  )
  const after = [
    `added as (
      insert into ${schema}.row (scope, segment, position, place, node, body, at, salt, erased, blocks)
      select $1::text, r.log, r.position, r.place, r.node, r.body, r.at, r.salt, r.erased, r.blocks
      from ${added} join grown on grown.key = r.log
    )`,
  ]
  if (ran.length > 0) {
    const table = values.table('o', { log: 'bigint', id: 'text', base: 'bigint', size: 'bigint', root: 'bytea' }, ran)
    parts.push(`ran as (select * from ${table})`)
    conditions.push(
      `not exists (select 1 from ran r join ${schema}.operation o on o.scope = $1::text and o.log = r.log and o.id = r.id where r.log = g.log)`,
    )
    after.push(`noted as (
      insert into ${schema}.operation (scope, log, id, base, size, root)
      select $1::text, r.log, r.id, r.base, r.size, r.root from ran r join grown on grown.key = r.log
    )`)
  }
  if (mentions.length > 0) {
    const inOrder = blocks.toSorted(([, { id: one }], [, { id: other }]) => (one < other ? -1 : one > other ? 1 : 0))
    const brought = inOrder.map(([log, { id, bytes }]) => [log, bytesOf(id), bytes])
    parts.push(`gave as (select * from ${values.table('b', { log: 'bigint', id: 'bytea', bytes: 'bytea' }, brought)})`)
    conditions.push(
      `not exists (select 1 from gave join ${schema}.block b on b.scope = $1::text and b.id = gave.id where gave.log = g.log and b.bytes <> gave.bytes)`,
    )
    after.push(
      `stored as (
      insert into ${schema}.block (scope, id, kept, bytes)
      select $1::text, b.id, false, b.bytes from gave b join grown on grown.key = b.log
      on conflict (scope, id) do nothing
    )`,
      `spoken as (
      insert into ${schema}.mention (scope, segment, position, block)
      select $1::text, m.log, m.position, m.block
      from ${values.table('m', { log: 'bigint', position: 'bigint', block: 'bytea' }, mentions)} join grown on grown.key = m.log
    )`,
    )
  } // a block that no row references is not stored
  if (claimed.length > 0) {
    parts.push(
      `claimed as (select * from ${values.table('c', { log: 'bigint', number: 'bigint' }, claimed)})`,
      `held as materialized (
      select s.log, s.number from ${schema}.lease s
      where s.scope = $1::text and s.log in (select log from claimed) and s.holder is not null
        and (s.expires > clock_timestamp() or exists (select 1 from claimed c where c.log = s.log and c.number = s.number))
      for share
    )`,
    )
    conditions.push(
      'not exists (select 1 from claimed c left join held h on h.log = c.log where c.log = g.log and c.number is distinct from h.number)',
    )
  }
  if (indexed.length > 0)
    after.push(
      `documents as (
      insert into ${schema}.search (scope, segment, position, part, terms)
      select $1::text, d.log, d.position, d.part, d.terms::tsvector
      from ${values.table('d', { log: 'bigint', position: 'bigint', part: 'smallint', terms: 'text' }, documents)} join grown on grown.key = d.log
    )`,
      `indexed as (
      insert into ${schema}.search_until (scope, segment, until)
      select $1::text, i.log, i.until from ${values.table('i', { log: 'bigint', first: 'bigint', until: 'bigint' }, indexed)} join grown on grown.key = i.log
      where i.first = coalesce(
        (select u.until from ${schema}.search_until u where u.scope = $1::text and u.segment = i.log),
        (select g.base from ${schema}.segment g where g.scope = $1::text and g.key = i.log)
      )
      on conflict (scope, segment) do update set until = excluded.until
    )`,
    )
  const grow = `grown as (
      update ${schema}.log l set size = g.new_size, root = g.new_root, entries = g.entries, tokens = least(l.tokens, ${Number.MAX_SAFE_INTEGER}) + g.tokens, peaks = g.peaks, appended = g.appended,
        used = ${usedAt('coalesce(g.appended, l.created)')}, sized = ${sizedAt('g.entries')}
      from given g
      where ${['l.scope = $1::text and l.key = g.log and l.size = g.size and l.root = g.root', ...conditions].join(' and ')}
      returning l.key
    )`
  const text = `with ${[...parts, grow, ...after].join(', ')} select key from grown`
  return { text, values: values.list, documents: indexed.length > 0 }
}

export const bytesOf = (digits: string): Buffer => Buffer.from(digits, 'hex')
