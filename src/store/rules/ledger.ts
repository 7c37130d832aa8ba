/**
 * Reads a scope's ledger: heads, removals, holds and erasures. The ledger is an ordinary log.
 * `@indelible/evidence` appends heads to it, and every erasure appends a row.
 */
import * as E from '#fp-ts/Either'
import { pipe } from '#fp-ts/function'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right, ownField } from '../../json/index.ts'
import type { LogFault, StoreFault, StoreFaultOf } from '../fault.ts'
import {
  actionReasonOf,
  ledgerId,
  ledgerRow,
  readLedgerRow,
  type ErasedRow,
  type Erasure,
  type Hold,
  type KeyDestroyed,
  type LedgerEntry,
  type LedgerRow,
} from '../port/ledger-row.ts'
import { retry } from './retry.ts'
import { ownStore } from './own-store.ts'
import { LayeredMap } from './layered-map.ts'
import type { Head, StoredRow } from '../port/row.ts'
import { nextTurn, sliceRows } from '../port/slices.ts'
import type { Store } from '../port/store.ts'
import { headOf, rowLeaf } from '../port/tree.ts'
import { identityAt, type LogIdentity } from '../port/identity.ts'
import { bytesToHex } from '@noble/hashes/utils.js'
import type { Hash } from '../../proof/internal.ts'
import { rangeAt } from './verify.ts'

/** The content of a ledger up to a head. */
export interface LedgerContent {
  /** The head up to which the ledger was read; undefined if there is none. */
  readonly head: Head | undefined
  /** The last entry of each session, by id. */
  readonly sessions: ReadonlyMap<string, LedgerEntry>
  /** The holds, by session id. */
  readonly held: ReadonlyMap<string, Hold>
  readonly destroyed: ReadonlyMap<string, KeyDestroyed>
  /** All erasures, in order. */
  readonly erasures: readonly Erasure[]
  /** The erasures, by the rows that they name. */
  readonly erased: ReadonlyMap<string, Erasure>
}

type LedgerFault = LogFault | StoreFaultOf<'NotALedger'>

/** The part of a store needed to read a ledger. */
type LedgerStore = Pick<Store, 'info' | 'read' | 'nodes' | 'hash'>

const emptyLedger: LedgerContent = Object.freeze({
  head: undefined,
  sessions: new Map(),
  held: new Map(),
  destroyed: new Map(),
  erasures: [],
  erased: new Map(),
})

/** Ledgers already read, by store. Ledgers only grow, so only new rows are read. */
const readLedgers = new WeakMap<LedgerStore, LedgerContent & { readonly head: Head }>()

/**
 * Read the ledger of a scope. The content is empty if there is none.
 *
 * Cost    O(rows of the ledger), then O(new rows)
 *
 * @param size reads only this many rows. Default: all
 * @returns the content; or `NotALedger`, and the faults of reading a log
 */
export const ledgerContent = async (store: LedgerStore, size?: number): Promise<Either<LedgerFault, LedgerContent>> => {
  const found = await store.info(ledgerId)()
  if (isLeft(found)) return found.left._tag === 'NoSuchLog' ? right(emptyLedger) : found
  if (!Object.hasOwn(found.right.meta, ledgerId))
    return left({ _tag: 'NotALedger', id: ledgerId, reason: 'it was made by something else' })
  const end = size ?? found.right.head.size
  const head = end === found.right.head.size ? right(found.right.head) : await headOfFirst(store, end)
  if (isLeft(head)) return head
  const before = readLedgers.get(store)
  if (before?.head.root === head.right.root && before.head.size === end) return right(before)
  const then = before === undefined || before.head.size > end ? undefined : await headOfFirst(store, before.head.size)
  if (then !== undefined && isLeft(then)) return then
  const base = before !== undefined && then?.right.root === before.head.root ? before : emptyLedger // otherwise it is a different ledger now
  const content = await readNewRows(store, base, head.right)
  if (!isLeft(content)) readLedgers.set(store, content.right)
  return content
}

const headOfFirst = async (store: LedgerStore, size: number): Promise<Either<LogFault, Head>> =>
  pipe(
    await rangeAt(store, ledgerId, size)(),
    E.map((range) => headOf(range, store.hash)),
  )

const readNewRows = async (
  store: LedgerStore,
  base: LedgerContent,
  head: Head,
): Promise<Either<LedgerFault, LedgerContent & { readonly head: Head }>> => {
  const news: { readonly content: LedgerRow; readonly place: { readonly row: number; readonly at: number } }[] = []
  for (let from = base.head?.size ?? 0; from < head.size; from += sliceRows) {
    const rows = await store.read(ledgerId, { from, to: Math.min(from + sliceRows, head.size) })()
    if (isLeft(rows)) return rows
    if (from > (base.head?.size ?? 0)) await nextTurn()
    for (const row of rows.right) {
      const read = readLedgerRow(row)
      if (isLeft(read)) return read
      const content = read.right
      if (content !== undefined) news.push({ content, place: { row: row.position, at: row.at } })
    }
  }
  // Copies only the parts that the new rows change.
  const types = new Set(news.map(({ content }) => content.type))
  const sessions = new Map<string, LedgerEntry>()
  const held = types.has('held') || types.has('released') ? new Map(base.held) : (base.held as Map<string, Hold>)
  const destroyed = types.has('destroyed') ? new Map(base.destroyed) : (base.destroyed as Map<string, KeyDestroyed>)
  const [erasures, erased] = types.has('erased')
    ? [[...base.erasures], new Map(base.erased)]
    : [base.erasures as Erasure[], base.erased as Map<string, Erasure>]
  for (const { content: ledgerRow, place } of news) {
    const { type, ...rest } = ledgerRow
    if (ledgerRow.type === 'erased') {
      const { type: _, ...content } = ledgerRow
      const by: Erasure = Object.freeze({ ...content, ...place })
      erasures.push(by)
      for (const row of ledgerRow.rows) if (!isHeldRow(held, row)) erased.set(keyOf(row), by)
    } else if (ledgerRow.type === 'held')
      held.set(
        ledgerRow.id,
        Object.freeze({ ...actionReasonOf(ledgerRow), id: ledgerRow.id, logs: ledgerRow.logs, ...place }),
      )
    else if (type === 'released') held.delete(ledgerRow.id)
    else if (ledgerRow.type === 'destroyed')
      destroyed.set(
        ledgerRow.key,
        Object.freeze({ ...actionReasonOf(ledgerRow), id: ledgerRow.id, key: ledgerRow.key, ...place }),
      )
    else sessions.set(ledgerRow.id, Object.freeze({ ...rest, ...place, removed: type === 'removed' }))
  }
  const all = LayeredMap.grown(base.sessions, sessions)
  return right(Object.freeze({ head, sessions: all, held, destroyed, erasures: Object.freeze(erasures), erased }))
}

const keyOf = ({ log, row, kind, leaf, stub }: Omit<ErasedRow, 'index'>): string =>
  JSON.stringify([log, row, kind, leaf, stub])

/** Whether a hold protects a row. Then a later claim that the row was erased does not count. */
const isHeldRow = (held: ReadonlyMap<string, Hold>, { log, row }: ErasedRow): boolean =>
  [...held.values()].some(({ logs }) => identityAt(logs, row) === log)

/**
 * The erasure that a ledger records for a row without a text.
 *
 * @param content the content of the ledger
 * @param row the row, with its leaf
 * @param identities the identities of the row's log
 * @returns the erasure; undefined if the ledger does not record it for this row and this stub
 */
export const erasureOf = (
  { erased }: Pick<LedgerContent, 'erased'>,
  row: Pick<StoredRow, 'position' | 'kind' | 'body' | 'stored' | 'at' | 'erased'>,
  identities: readonly LogIdentity[],
  hash: Hash,
): Erasure | undefined => {
  const { position, kind } = row
  const leaf = ownField(row, 'erased')
  if (leaf === undefined) return undefined
  return erased.get(
    keyOf({ log: identityAt(identities, position), row: position, kind, leaf, stub: stubLeaf(row, hash) }),
  )
}

/**
 * The leaf of an erased row's stub: that of a row with its kind, its time and the stub's text.
 *
 * @param row the kind, the text and the time
 * @returns 64 hexadecimal digits
 */
export const stubLeaf = (row: Pick<StoredRow, 'kind' | 'body' | 'stored' | 'at'>, hash: Hash): string =>
  bytesToHex(rowLeaf({ kind: row.kind, body: ownField(row, 'stored') ?? row.body, at: row.at }, hash))

/** The first row without a text whose erasure the ledger does not record; undefined if there is none. */
export const firstUnaccounted = (
  content: Pick<LedgerContent, 'erased'>,
  rows: readonly StoredRow[],
  identities: readonly LogIdentity[],
  hash: Hash,
): StoredRow | undefined =>
  rows.find((row) => row.erased !== undefined && erasureOf(content, row, identities, hash) === undefined)

interface LedgerAppended {
  /** The head of the ledger afterwards. */
  readonly head: Head
  /** The number of appended rows. */
  readonly recorded: number
}

/**
 * Append to the ledger the rows that `news` returns for its content. If another process appends in
 * between, `news` is called again. The first append creates the ledger, even without rows.
 *
 * @param news returns the rows for this content, and more values to return
 * @returns the new head, the number of rows, and the other values of `news`
 */
export const appendToLedger = async <F, M extends object>(
  store: Store,
  news: (ledger: LedgerContent) => Promise<Either<F, { readonly rows: readonly LedgerRow[]; readonly more: M }>>,
): Promise<Either<F | StoreFault, LedgerAppended & M>> => {
  const own = ownStore(store)
  return retry(async (isLast) => {
    const ledger = await ledgerContent(store)
    if (isLeft(ledger)) return ledger
    const { head } = ledger.right
    const made = await news(ledger.right)
    if (isLeft(made)) return made
    const { rows, more } = made.right
    const recorded = rows.length
    if (head !== undefined && recorded === 0) return right(Object.freeze({ head, recorded, ...more }))
    const stored = rows.map((row) => ledgerRow(row, store.now()))
    const done = await (head === undefined
      ? own.create({ id: ledgerId, meta: { [ledgerId]: 1 }, rows: stored, encrypt: false })()
      : own.append(ledgerId, { expected: head, rows: stored })())
    if (!isLeft(done)) return right(Object.freeze({ head: done.right.head, recorded, ...more }))
    const isLate = done.left._tag === (head === undefined ? 'LogExists' : 'Conflict')
    return isLate && !isLast ? undefined : done
  })
}
