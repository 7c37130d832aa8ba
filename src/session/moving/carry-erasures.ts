/** Carries the erasures and holds of a record into the ledger of another store. */
import type { Either } from 'fp-ts/lib/Either.js'
import { hasField, isLeft, left, ownField, present, right } from '../../json/index.ts'
import type { ExportedHead } from '../record/exported.ts'
import { emptyRange } from '../../proof/kit.ts'
import type { CopiedClaim, ErasedRow, Erasure, Head, Store, StoreFaultOf } from '../../store/index.ts'
import {
  appendToLedger,
  erasureOf,
  identityAt,
  headOf,
  ledgerContent,
  stubLeaf,
  type LedgerContent,
  type LedgerRow,
} from '../../store/kit.ts'
import { need, type Steps } from '../../task/index.ts'
import type { ImportFault } from '../fault.ts'
import type { PlacedRow } from './copy-encrypted.ts'
import { type TimedExport, encodedOf } from './store-rows.ts'

/** The rows of a record that were erased, as they are stored, each with its place. */
export const rowsErased = (rows: Iterable<TimedExport>, store: Store): readonly PlacedRow[] => {
  const found: PlacedRow[] = []
  let position = 0
  let messages = 0
  for (const row of rows) {
    if (ownField(row, 'erased') !== undefined) {
      const encoded = encodedOf(row, store)
      const index = hasField(row, 'message') ? messages : position - messages
      if (!isLeft(encoded)) found.push({ position, index, row: encoded.right.row })
    }
    position += 1
    if (hasField(row, 'message')) messages += 1
  }
  return found
}

export type Reasons = ReadonlyMap<string, Erasure>

/** Rows for a ledger. */
type News = Either<StoreFaultOf<'LogHeld'>, { readonly rows: readonly LedgerRow[]; readonly more: object }>

/** A ledger can fail in each way of a store; these are the ways of an import. */
const contentOf = (store: Store): Promise<Either<ImportFault, LedgerContent>> =>
  ledgerContent(store) as Promise<Either<ImportFault, LedgerContent>>

/** Why the rows of a store were erased, by their place and leaf. */
export async function* reasonsIn(store: Store): Steps<ImportFault, Reasons> {
  const content = yield* need(contentOf(store))
  return new Map(content.erasures.flatMap((one) => one.rows.map(({ row, leaf }) => [`${row} ${leaf}`, one] as const)))
}

/** Say in a ledger what was erased elsewhere, so that rows without a text can be stored. Nothing, where it is said already. */
export async function* sayErased(
  store: Store,
  own: string,
  id: string,
  head: ExportedHead,
  rows: readonly PlacedRow[],
  reasons?: () => Steps<ImportFault, Reasons>,
): Steps<ImportFault, void> {
  if (rows.length === 0) return
  const why = reasons === undefined ? undefined : yield* reasons()
  const identities = yield* need(store.identities(own))
  const news = async (ledger: LedgerContent): Promise<News> => {
    if (ledger.held.has(own)) return left({ _tag: 'LogHeld', id: own })
    const groups = new Map<Erasure | undefined, ErasedRow[]>()
    for (const { position, index, row } of rows) {
      const { kind, body, at, erased: leaf = '' } = row
      const stood = { position, kind, body, erased: leaf, at }
      if (erasureOf(ledger, stood, identities, store.hash) !== undefined) continue
      const by = why?.get(`${position} ${leaf}`)
      const group = groups.get(by) ?? []
      groups.set(by, group)
      group.push({
        log: identityAt(identities, position),
        row: position,
        kind,
        index,
        leaf,
        stub: stubLeaf(stood, store.hash),
      })
    }
    const erased = [...groups].map(([by, named]): LedgerRow => ({
      type: 'erased',
      id,
      head: { size: head.size, root: head.root ?? headOf(emptyRange, store.hash).root },
      rows: named,
      copied: copiedOf(by),
    }))
    return right({ rows: erased, more: {} })
  }
  yield* need(appendToLedger(store, news) as Promise<Either<ImportFault, unknown>>)
}

/** The other store's entry. This store does not vouch for it. */
const copiedOf = (by: Erasure | undefined): CopiedClaim => {
  if (by?.copied !== undefined) return by.copied
  const { at, reason, by: person } = by ?? { at: undefined, reason: 'erased before it was exported', by: undefined }
  return present({ at, reason, by: person })
}

/** Erase in a copy what was erased in the record since it was copied. */
export async function* eraseThere(
  to: Store,
  id: string,
  expected: Head,
  rows: readonly PlacedRow[],
  from: Store,
): Steps<ImportFault, void> {
  if (rows.length === 0) return
  const why = yield* reasonsIn(from)
  const first = rows.map(({ position, row }) => why.get(`${position} ${row.erased}`)).find((by) => by !== undefined)
  const stubs = rows.map(({ position, row }) => ({ position, stub: row.body }))
  yield* need(to.erase({ logs: [{ id, expected, rows: stubs }], copied: copiedOf(first) }))
}

/** Hold a copy where the session is held. Before it is a session: so it is never one that can be erased. */
export async function* holdThere(
  from: Store,
  to: Store,
  id: string,
  head: Head,
  own: string = id,
): Steps<ImportFault, void> {
  const hold = (yield* need(contentOf(from))).held.get(id)
  if (hold === undefined) return
  const { reason, by } = hold
  const identities = yield* need(to.identities(own))
  const row: LedgerRow = { type: 'held', id, head, logs: identities, ...present({ reason, by }) }
  const news = async ({ held }: LedgerContent): Promise<News> => right({ rows: held.has(id) ? [] : [row], more: {} })
  yield* need(appendToLedger(to, news) as Promise<Either<ImportFault, unknown>>)
}
