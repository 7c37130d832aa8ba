/** Appends as one statement: heads are compared, logs grown, rows, operations and blocks stored, or none of it, a log each. */
import type { Hash } from '../../digest/index.ts'
import type { Block, CheckedAppend } from '../driver.ts'
import type { Appended } from '../store.ts'
import { grow, headOf } from '../tree.ts'
import { joined, type Log } from './log.ts'
import { escaped, placeOf } from './rows.ts'

/** What a log is going to be: from `before`, by one append after the other. */
export interface Growth {
  readonly before: Log
  readonly after: Log
  readonly steps: readonly Step[]
}

interface Step {
  readonly append: CheckedAppend
  readonly nodes: readonly Uint8Array[]
  readonly appended: Appended
}

/** A log with one more append. Undefined: it does not continue it. */
export const grown = (growth: Growth, append: CheckedAppend, hash: Hash): Growth | undefined => {
  const { before, after: log, steps } = growth
  if (append.expected.size !== log.head.size || append.expected.root !== log.head.root) return undefined
  const { range, nodes } = grow({ size: log.head.size, peaks: log.peaks }, append.rows.map(({ leaf }) => leaf), hash)
  const head = headOf(range, hash)
  const entries = log.entries + append.rows.filter(({ kind }) => kind === 'entry').length
  const appended = Object.freeze({ from: log.head.size, head })
  return { before, after: { ...log, head, entries, peaks: range.peaks }, steps: [...steps, { append, nodes, appended }] }
}

/** What an append has or has not, beside rows. A statement without what it does not need takes the server less time. */
interface Carries {
  readonly operations: boolean
  readonly blocks: boolean
}

/** Numbers of parameters, each after the one before. */
const parameters = (first: number, types: readonly string[]): string => types.map((type, index) => `$${first + index}::${type}[]`).join(', ')

/**
 * Gives the keys of the logs that have grown. The others are not at their heads any more, or have seen an operation.
 * A row that speaks of a block that is not there is a violation of a foreign key: then nothing is done.
 */
const appendText = (schema: string, { operations, blocks }: Carries): string => {
  const afterOperations = operations ? 19 : 14
  const parts = [
    `given as (
      select * from unnest(${parameters(2, ['bigint', 'bigint', 'bytea', 'bigint', 'bytea', 'bigint', 'bytea'])}) as g (log, size, root, new_size, new_root, entries, peaks)
    )`,
    operations &&
      `ran as (
      select * from unnest(${parameters(14, ['bigint', 'text', 'bigint', 'bigint', 'bytea'])}) as o (log, id, base, size, root)
    )`,
    `grown as (
      update ${schema}.log l set size = g.new_size, root = g.new_root, entries = g.entries, peaks = g.peaks
      from given g
      where l.scope = $1::text and l.key = g.log and l.size = g.size and l.root = g.root
        ${operations ? `and not exists (select 1 from ran r join ${schema}.operation o on o.scope = $1::text and o.log = r.log and o.id = r.id where r.log = g.log)` : ''}
      returning l.key
    )`,
    `added as (
      insert into ${schema}.row (scope, segment, position, place, node, body)
      select $1::text, r.log, r.position, r.place, r.node, r.body
      from unnest(${parameters(9, ['bigint', 'bigint', 'bigint', 'bytea', 'text'])}) as r (log, position, place, node, body)
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
      select $1::text, b.id, false, b.bytes from unnest(${parameters(afterOperations, ['bigint', 'bytea', 'bytea'])}) as b (log, id, bytes)
      join grown on grown.key = b.log
      on conflict (scope, id) do nothing
    )`,
    blocks &&
      `spoken as (
      insert into ${schema}.mention (scope, segment, position, block)
      select $1::text, m.log, m.position, m.block from unnest(${parameters(afterOperations + 3, ['bigint', 'bigint', 'bytea'])}) as m (log, position, block)
      join grown on grown.key = m.log
    )`,
  ]
  return `with ${parts.filter((part) => part !== false).join(', ')} select key from grown`
}

/**
 * A statement and what it is given. All is in the order of keys and ids, so that two that meet don't wait for each other
 * crosswise.
 */
export const appendStatement = (schema: string, scope: string, growths: readonly Growth[]): { readonly text: string; readonly values: readonly unknown[] } => {
  const logs = growths.toSorted((one, other) => one.before.key - other.before.key)
  const given = logs.map(({ before, after }) => [before.key, before.head.size, bytesOf(before.head.root), after.head.size, bytesOf(after.head.root), after.entries, joined(after.peaks)])
  const ran: unknown[][] = []
  const rows: unknown[][] = []
  const mentions: unknown[][] = []
  const blocks: (readonly [log: number, block: Block])[] = []
  for (const { before, steps } of logs) {
    let entries = before.entries
    for (const { append, nodes, appended } of steps) {
      if (append.operation !== undefined) ran.push([before.key, append.operation, appended.from, appended.head.size, bytesOf(appended.head.root)])
      for (const [offset, { kind, body, blocks: named }] of append.rows.entries()) {
        const position = appended.from + offset
        const index = kind === 'entry' ? entries++ : position - entries
        rows.push([before.key, position, placeOf({ kind, index }), nodes[offset], escaped(body)])
        for (const block of new Set(named)) mentions.push([before.key, position, bytesOf(block)])
      }
      for (const block of append.blocks) blocks.push([before.key, block])
    }
  }
  const inOrder = blocks.toSorted(([, { id: one }], [, { id: other }]) => (one < other ? -1 : one > other ? 1 : 0))
  const carries = { operations: ran.length > 0, blocks: mentions.length > 0 } // a block that no row speaks of is not taken
  return {
    text: appendText(schema, carries),
    values: [
      scope,
      ...columns(7, given),
      ...columns(5, rows),
      ...(carries.operations ? columns(5, ran) : []),
      ...(carries.blocks ? [...columns(3, inOrder.map(([log, { id, bytes }]) => [log, bytesOf(id), bytes])), ...columns(3, mentions)] : []),
    ],
  }
}

export const bytesOf = (digits: string): Buffer => Buffer.from(digits, 'hex')

const columns = (count: number, rows: readonly (readonly unknown[])[]): unknown[][] => Array.from({ length: count }, (_, column) => rows.map((row) => row[column]))
