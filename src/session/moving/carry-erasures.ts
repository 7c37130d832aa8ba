/** Copies a record's erasures and holds to another store's ledger. */
import type { Either } from 'fp-ts/lib/Either.js'
import { hasField, isLeft, left, ownField, present, right } from '../../json/index.ts'
import type { ExportedHead } from '../record/exported.ts'
import { emptyRange } from '../../proof/internal.ts'
import type { Head, Store, StoreFaultOf } from '../../store/index.ts'
import {
  appendToLedger,
  erasureOf,
  identityAt,
  headOf,
  Slices,
  stubLeaf,
  type LedgerContent,
  type LedgerRow,
  type CopiedClaim,
  type ErasedRow,
  type Erasure,
} from '../../store/internal.ts'
import { need, type Steps } from '../../task/index.ts'
import type { ImportFault } from '../fault.ts'
import type { RowAtPosition } from './copy-encrypted.ts'
import { contentOf, reasonsIn } from './erased-before.ts'
import { type TimedExport, encodedOf } from './store-rows.ts'

/** The erased rows of a record in stored form, with their positions. */
export const erasedRowsIn = async (rows: Iterable<TimedExport>, store: Store): Promise<readonly RowAtPosition[]> => {
  const found: RowAtPosition[] = []
  let position = 0
  let messages = 0
  const slices = new Slices()
  for (const row of rows) {
    await slices.next()
    if (ownField(row, 'erased') !== undefined) {
      const index = hasField(row, 'message') ? messages : position - messages
      const encoded = encodedOf(row, store, index)
      if (!isLeft(encoded)) found.push({ position, index, row: encoded.right.row })
    }
    position += 1
    if (hasField(row, 'message')) messages += 1
  }
  return found
}

/** Rows to append to a ledger. */
type LedgerChange = Either<StoreFaultOf<'LogHeld'>, { readonly rows: readonly LedgerRow[]; readonly more: object }>

/**
 * Records earlier erasures in this ledger, except those it has, so that rows without a text can be stored.
 *
 * @param from the store whose ledger has the reasons. Default: they are unknown
 */
export async function* recordErasures(
  store: Store,
  own: string,
  id: string,
  head: ExportedHead,
  rows: readonly RowAtPosition[],
  from?: Store,
): Steps<ImportFault, void> {
  if (rows.length === 0) return
  const why = from === undefined ? undefined : yield* reasonsIn(from)
  const identities = yield* need(store.identities(own))
  const ledgerChange = async (ledger: LedgerContent): Promise<LedgerChange> => {
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
        ...digestsIn(by, position, leaf),
      })
    }
    const erased = [...groups].map(([by, named]): LedgerRow => ({
      type: 'erased',
      id,
      head: { size: head.size, root: head.root ?? headOf(emptyRange, store.hash).root },
      rows: named,
      copied: copiedClaimOf(by),
    }))
    return right({ rows: erased, more: {} })
  }
  yield* need(appendToLedger(store, ledgerChange) as Promise<Either<ImportFault, unknown>>)
}

/** The digests that another ledger keeps with a row. */
const digestsIn = (by: Erasure | undefined, position: number, leaf: string): Pick<ErasedRow, 'digests'> =>
  present({ digests: by?.rows.find((row) => row.row === position && row.leaf === leaf)?.digests })

/** Another store's entry, marked as a claim that this store can't confirm. */
const copiedClaimOf = (by: Erasure | undefined): CopiedClaim => {
  if (by?.copied !== undefined) return by.copied
  const { at, reason, by: person } = by ?? { at: undefined, reason: 'erased before it was exported', by: undefined }
  return present({ at, reason, by: person })
}

/** Erase in a copy the rows that were erased in the record since. */
export async function* eraseThere(
  to: Store,
  id: string,
  expected: Head,
  rows: readonly RowAtPosition[],
  from: Store,
): Steps<ImportFault, void> {
  if (rows.length === 0) return
  const why = yield* reasonsIn(from)
  const first = rows.map(({ position, row }) => why.get(`${position} ${row.erased}`)).find((by) => by !== undefined)
  const stubs = rows.map(({ position, row: { body, erased: leaf = '' } }) => ({
    position,
    stub: body,
    ...digestsIn(why.get(`${position} ${leaf}`), position, leaf),
  }))
  yield* need(to.erase({ logs: [{ id, expected, rows: stubs }], copied: copiedClaimOf(first) }))
}

/** Hold a copy if its session is held. It is called before the copy is a session and could be erased. */
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
  const ledgerChange = async ({ held }: LedgerContent): Promise<LedgerChange> =>
    right({ rows: held.has(id) ? [] : [row], more: {} })
  yield* need(appendToLedger(to, ledgerChange) as Promise<Either<ImportFault, unknown>>)
}
