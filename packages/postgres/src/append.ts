/** Appends as one statement: heads are compared, logs grown, rows, operations and blocks stored, or none of it, a log each. */
import {
  type Block,
  type CheckedAppend,
  claims,
  type GrownRow,
  growth,
  type Growth,
  hasKey,
  placeOf,
  sameHead,
} from 'indelible/store/kit'
import type { Document } from './documents.ts'
import { joined, usedAt, type Log } from './log.ts'
import { escaped } from './rows.ts'
import { hash } from './sum.ts'

/** What a log is going to be: from `before`, by one append after the other. */
export interface Growths {
  readonly before: Log
  readonly after: Log
  readonly steps: readonly Step[]
}

interface Step {
  readonly append: CheckedAppend
  readonly growth: Growth
}

/** Gives the documents of an append for the search index; undefined if they are to be added later. */
export type DocumentsOf = (append: CheckedAppend, rows: readonly GrownRow[]) => readonly Document[] | undefined

/** A log with one more append. Undefined: it does not continue it. */
export const grown = ({ before, after: log, steps }: Growths, append: CheckedAppend): Growths | undefined => {
  if (!sameHead(append.expected, log.head) || !hasKey(log.meta, append.ownKey)) return undefined
  const step = growth(log, append, hash)
  const { head, entries, peaks } = step
  const appended = step.rows.length === 0 ? log.appended : step.appended
  return { before, after: { ...log, head, entries, peaks, appended }, steps: [...steps, { append, growth: step }] }
}

/** What an append has or has not, beside rows. A statement without what it does not need takes the server less time. */
interface Carries {
  readonly operations: boolean
  readonly blocks: boolean
  readonly claims: boolean
  readonly turns: boolean
  readonly documents: boolean
}

/** Numbers of parameters, each after the one before. */
const parameters = (first: number, types: readonly string[]): string =>
  types.map((type, index) => `$${first + index}::${type}[]`).join(', ')

/**
 * Gives the keys of the logs that have grown. The others are not at their heads any more, or have seen an operation, or
 * speak of a block that is there and is damaged, or their leases are not as an append claims, or others wait for a turn. A lease is locked until the
 * commit: nobody takes it over before.
 * A row that speaks of a block that is not there is a violation of a foreign key: then nothing is done.
 */
const appendText = (schema: string, { operations, blocks, claims, turns, documents }: Carries): string => {
  const afterOperations = operations ? 23 : 18
  const afterBlocks = afterOperations + (blocks ? 6 : 0)
  const afterClaims = afterBlocks + (claims ? 2 : 0)
  const afterTurns = afterClaims + (turns ? 2 : 0)
  const parts = [
    `given as (
      select * from unnest(${parameters(2, ['bigint', 'bigint', 'bytea', 'bigint', 'bytea', 'bigint', 'bytea', 'bigint'])}) as g (log, size, root, new_size, new_root, entries, peaks, appended)
    )`,
    blocks &&
      `gave as (
      select * from unnest(${parameters(afterOperations, ['bigint', 'bytea', 'bytea'])}) as b (log, id, bytes)
    )`,
    operations &&
      `ran as (
      select * from unnest(${parameters(18, ['bigint', 'text', 'bigint', 'bigint', 'bytea'])}) as o (log, id, base, size, root)
    )`,
    claims &&
      `claimed as (
      select * from unnest(${parameters(afterBlocks, ['bigint', 'bigint'])}) as c (log, number)
    ), held as materialized (
      select s.log, s.number from ${schema}.lease s
      where s.scope = $1::text and s.log in (select log from claimed) and s.holder is not null
        and (s.expires > clock_timestamp() or exists (select 1 from claimed c where c.log = s.log and c.number = s.number))
      for share
    )`,
    turns &&
      `turned as (
      select * from unnest(${parameters(afterClaims, ['bigint', 'bigint'])}) as t (log, turn)
    )`,
    `grown as (
      update ${schema}.log l set size = g.new_size, root = g.new_root, entries = g.entries, peaks = g.peaks, appended = g.appended,
        used = ${usedAt('coalesce(g.appended, l.created)')}
      from given g
      where l.scope = $1::text and l.key = g.log and l.size = g.size and l.root = g.root
        ${blocks ? `and not exists (select 1 from gave join ${schema}.block b on b.scope = $1::text and b.id = gave.id where gave.log = g.log and b.bytes <> gave.bytes)` : ''}
        ${operations ? `and not exists (select 1 from ran r join ${schema}.operation o on o.scope = $1::text and o.log = r.log and o.id = r.id where r.log = g.log)` : ''}
        ${claims ? `and not exists (select 1 from claimed c left join held h on h.log = c.log where c.log = g.log and c.number is distinct from h.number)` : ''}
        ${turns ? `and not exists (select 1 from turned t where t.log = g.log and not pg_try_advisory_xact_lock_shared(t.turn))` : ''}
      returning l.key
    )`,
    `added as (
      insert into ${schema}.row (scope, segment, position, place, node, body, at, salt, erased)
      select $1::text, r.log, r.position, r.place, r.node, r.body, r.at, r.salt, r.erased
      from unnest(${parameters(10, ['bigint', 'bigint', 'bigint', 'bytea', 'text', 'bigint', 'bytea', 'bytea'])}) as r (log, position, place, node, body, at, salt, erased)
      join grown on grown.key = r.log
    )`,
    operations &&
      `noted as (
      insert into ${schema}.operation (scope, log, id, base, size, root)
      select $1::text, r.log, r.id, r.base, r.size, r.root from ran r join grown on grown.key = r.log
    )`,
    blocks &&
      `stored as (
      insert into ${schema}.block (scope, id, kept, bytes)
      select $1::text, b.id, false, b.bytes from gave b
      join grown on grown.key = b.log
      on conflict (scope, id) do nothing
    )`,
    blocks &&
      `spoken as (
      insert into ${schema}.mention (scope, segment, position, block)
      select $1::text, m.log, m.position, m.block from unnest(${parameters(afterOperations + 3, ['bigint', 'bigint', 'bytea'])}) as m (log, position, block)
      join grown on grown.key = m.log
    )`,
    documents &&
      `documents as (
      insert into ${schema}.search (scope, segment, position, part, terms)
      select $1::text, d.log, d.position, d.part, d.terms::tsvector
      from unnest(${parameters(afterTurns, ['bigint', 'bigint', 'smallint', 'text'])}) as d (log, position, part, terms)
      join grown on grown.key = d.log
    ), indexed as (
      insert into ${schema}.search_until (scope, segment, until)
      select $1::text, i.log, i.until from unnest(${parameters(afterTurns + 4, ['bigint', 'bigint', 'bigint'])}) as i (log, first, until)
      join grown on grown.key = i.log
      where i.first = coalesce(
        (select u.until from ${schema}.search_until u where u.scope = $1::text and u.segment = i.log),
        (select g.base from ${schema}.segment g where g.scope = $1::text and g.key = i.log)
      )
      on conflict (scope, segment) do update set until = excluded.until
    )`,
  ]
  return `with ${parts.filter((part) => part !== false).join(', ')} select key from grown`
}

interface Statement {
  readonly text: string
  readonly values: readonly unknown[]
  readonly documents: boolean
  readonly turns: boolean
}

/**
 * A statement and what it is given. All is in the order of keys and ids, so that two that meet don't wait for each other
 * crosswise.
 */
export const appendStatement = (
  schema: string,
  scope: string,
  growths: readonly Growths[],
  documentsOf: DocumentsOf,
  turnOf: (id: string) => string | undefined = () => undefined,
): Statement => {
  const logs = growths.toSorted((one, other) => one.before.key - other.before.key)
  const given = logs.map(({ before, after }) => [
    before.key,
    before.head.size,
    bytesOf(before.head.root),
    after.head.size,
    bytesOf(after.head.root),
    after.entries,
    joined(after.peaks),
    after.appended ?? null,
  ])
  const ran: unknown[][] = []
  const rows: unknown[][] = []
  const mentions: unknown[][] = []
  const claimed: unknown[][] = []
  const turns: unknown[][] = []
  const documents: unknown[][] = []
  const indexed: unknown[][] = []
  const blocks: (readonly [log: number, block: Block])[] = []
  for (const { before, after, steps } of logs) {
    const found = steps.map(({ append, growth: { rows } }) => documentsOf(append, rows))
    if (found.every((each) => each !== undefined)) {
      for (const { position, part, terms } of found.flat()) documents.push([before.key, position, part, terms])
      indexed.push([before.key, before.head.size, after.head.size])
    }
    const turn = steps.some(({ append }) => append.respectTurns) ? turnOf(before.id) : undefined
    if (turn !== undefined) turns.push([before.key, turn])
    for (const { append, growth: grew } of steps) {
      const { from, head } = grew.answer
      if (append.operation !== undefined) ran.push([before.key, append.operation, from, head.size, bytesOf(head.root)])
      for (const { row, position, kind, index, node } of grew.rows) {
        const { body, at, salt, erased, blocks: named } = row
        const place = placeOf({ kind, index })
        const [salted, leaf] = [salt, erased].map((digits) => (digits === undefined ? null : bytesOf(digits)))
        rows.push([before.key, position, place, node, escaped(body), at, salted, leaf])
        for (const block of new Set(named)) mentions.push([before.key, position, bytesOf(block)])
      }
      for (const block of append.blocks) blocks.push([before.key, block])
      if (claims(append)) claimed.push([before.key, append.lease?.number ?? null])
    }
  }
  const inOrder = blocks.toSorted(([, { id: one }], [, { id: other }]) => (one < other ? -1 : one > other ? 1 : 0))
  const carries = {
    operations: ran.length > 0,
    blocks: mentions.length > 0,
    claims: claimed.length > 0,
    turns: turns.length > 0,
    documents: indexed.length > 0,
  } // a block that no row speaks of is not taken
  return {
    text: appendText(schema, carries),
    documents: carries.documents,
    turns: carries.turns,
    values: [
      scope,
      ...columns(8, given),
      ...columns(8, rows),
      ...(carries.operations ? columns(5, ran) : []),
      ...(carries.blocks
        ? [
            ...columns(
              3,
              inOrder.map(([log, { id, bytes }]) => [log, bytesOf(id), bytes]),
            ),
            ...columns(3, mentions),
          ]
        : []),
      ...(carries.claims ? columns(2, claimed) : []),
      ...(carries.turns ? columns(2, turns) : []),
      ...(carries.documents ? [...columns(4, documents), ...columns(3, indexed)] : []),
    ],
  }
}

export const bytesOf = (digits: string): Buffer => Buffer.from(digits, 'hex')

const columns = (count: number, rows: readonly (readonly unknown[])[]): unknown[][] =>
  Array.from({ length: count }, (_, column) => rows.map((row) => row[column]))
