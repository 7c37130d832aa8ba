/**
 * A scope's ledger, read: what it says of heads, removals, holds and erasures. It is a log as any other; `@indelible/evidence`
 * writes heads into it, and every erasure is a row of it.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right, ownField } from '../../json/index.ts'
import type { LogFault, StoreFault, StoreFaultOf } from '../fault.ts'
import {
  becauseOf,
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
import type { Store } from '../port/store.ts'
import { headOf, rowLeaf } from '../port/tree.ts'
import { identityAt, type LogIdentity } from '../port/identity.ts'
import { bytesToHex } from '@noble/hashes/utils.js'
import type { Hash } from '../../proof/kit.ts'
import { rangeAt } from './verify.ts'

/** All that a ledger says, up to a head. */
export interface LedgerContent {
  /** The head of the ledger that was read; undefined if there is no ledger. */
  readonly head: Head | undefined
  /** The last that it says of each session's head, by id. */
  readonly sessions: ReadonlyMap<string, LedgerEntry>
  /** The sessions that are held, by id. */
  readonly held: ReadonlyMap<string, Hold>
  /** The keys that were destroyed, by their ids. */
  readonly destroyed: ReadonlyMap<string, KeyDestroyed>
  /** Every erasure, in order. */
  readonly erasures: readonly Erasure[]
  /** The erasures by the rows that they name. */
  readonly erased: ReadonlyMap<string, Erasure>
}

/** Reading a ledger. */
type LedgerFault = LogFault | StoreFaultOf<'NotALedger'>

/** The part of a store that reading a ledger needs. */
type LedgerStore = Pick<Store, 'info' | 'read' | 'nodes' | 'hash'>

const nothing: LedgerContent = Object.freeze({
  head: undefined,
  sessions: new Map(),
  held: new Map(),
  destroyed: new Map(),
  erasures: [],
  erased: new Map(),
})

/** Ledgers that were read, by store. Ledgers only grow, so only new rows are read. */
const known = new WeakMap<LedgerStore, LedgerContent & { readonly head: Head }>()

/**
 * Read what the ledger of a scope says. Without one, nothing.
 *
 * Cost    O(rows of the ledger), then O(new rows)
 *
 * @param size only its first rows. Default: all
 * @returns the content; or `NotALedger`, and the faults of reading a log
 */
export const ledgerContent = async (store: LedgerStore, size?: number): Promise<Either<LedgerFault, LedgerContent>> => {
  const found = await store.info(ledgerId)()
  if (isLeft(found)) return found.left._tag === 'NoSuchLog' ? right(nothing) : found
  if (!Object.hasOwn(found.right.meta, ledgerId))
    return left({ _tag: 'NotALedger', id: ledgerId, reason: 'it was made by something else' })
  const end = size ?? found.right.head.size
  const head = end === found.right.head.size ? right(found.right.head) : await headOfFirst(store, end)
  if (isLeft(head)) return head
  const before = known.get(store)
  if (before?.head.root === head.right.root && before.head.size === end) return right(before)
  const then = before === undefined || before.head.size > end ? undefined : await headOfFirst(store, before.head.size)
  if (then !== undefined && isLeft(then)) return then
  const base = before !== undefined && then?.right.root === before.head.root ? before : nothing // else it is another one by now
  const content = await readOn(store, base, head.right)
  if (!isLeft(content)) known.set(store, content.right)
  return content
}

const headOfFirst = async (store: LedgerStore, size: number): Promise<Either<LogFault, Head>> => {
  const range = await rangeAt(store, ledgerId, size)()
  return isLeft(range) ? range : right(headOf(range.right, store.hash))
}

const readOn = async (
  store: LedgerStore,
  base: LedgerContent,
  head: Head,
): Promise<Either<LedgerFault, LedgerContent & { readonly head: Head }>> => {
  const news: { readonly said: LedgerRow; readonly place: { readonly row: number; readonly at: number } }[] = []
  for (let from = base.head?.size ?? 0; from < head.size; from += 1000) {
    const rows = await store.read(ledgerId, { from, to: Math.min(from + 1000, head.size) })()
    if (isLeft(rows)) return rows
    for (const row of rows.right) {
      const read = readLedgerRow(row)
      if (isLeft(read)) return read
      const said = read.right
      if (said !== undefined) news.push({ said, place: { row: row.position, at: row.at } })
    }
  }
  // Only what the new rows are about is copied.
  const types = new Set(news.map(({ said }) => said.type))
  const sessions = new Map<string, LedgerEntry>()
  const held = types.has('held') || types.has('released') ? new Map(base.held) : (base.held as Map<string, Hold>)
  const destroyed = types.has('destroyed') ? new Map(base.destroyed) : (base.destroyed as Map<string, KeyDestroyed>)
  const [erasures, erased] = types.has('erased')
    ? [[...base.erasures], new Map(base.erased)]
    : [base.erasures as Erasure[], base.erased as Map<string, Erasure>]
  for (const { said, place } of news) {
    const { type, ...rest } = said
    if (said.type === 'erased') {
      const { type: _, ...content } = said
      const by: Erasure = Object.freeze({ ...content, ...place })
      erasures.push(by)
      for (const one of said.rows) if (!isHeldRow(held, one)) erased.set(keyOf(one), by)
    } else if (said.type === 'held')
      held.set(said.id, Object.freeze({ ...becauseOf(said), id: said.id, logs: said.logs, ...place }))
    else if (type === 'released') held.delete(said.id)
    else if (said.type === 'destroyed')
      destroyed.set(said.key, Object.freeze({ ...becauseOf(said), id: said.id, key: said.key, ...place }))
    else sessions.set(said.id, Object.freeze({ ...rest, ...place, removed: type === 'removed' }))
  }
  const all = LayeredMap.grown(base.sessions, sessions)
  return right(Object.freeze({ head, sessions: all, held, destroyed, erasures: Object.freeze(erasures), erased }))
}

const keyOf = ({ log, row, kind, leaf, stub }: Omit<ErasedRow, 'index'>): string =>
  JSON.stringify([log, row, kind, leaf, stub])

/** Whether a hold protects a row. A claim that it was erased later does not count. */
const isHeldRow = (held: ReadonlyMap<string, Hold>, { log, row }: ErasedRow): boolean =>
  [...held.values()].some(({ logs }) => identityAt(logs, row) === log)

/**
 * The erasure that a ledger says of a row without a text.
 *
 * @param content what the ledger says
 * @param row the row, with the leaf that it keeps
 * @param identities those of the log that has the row
 * @returns the erasure; undefined if the ledger does not say that this row was erased, or another stub stands for it
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
 * The leaf of the stub that stands for an erased row: that of a row with its kind, its time and this text.
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

/** The result of an append to a ledger. */
export interface LedgerAppended {
  /** The head of the ledger after it. */
  readonly head: Head
  /** How many rows were appended. */
  readonly recorded: number
}

/**
 * Append to the ledger what `news` says of the ledger as it is. If another process appends in between, `news` is asked again.
 * The first append makes the ledger, also one without rows.
 *
 * @param news gets the content, and returns the rows and anything else to give back
 * @returns the new head, the number of rows, and what `news` gave beside them
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
    const said = await news(ledger.right)
    if (isLeft(said)) return said
    const { rows, more } = said.right
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
