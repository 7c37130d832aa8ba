/** Carries the erasures and holds of a record into the ledger of another store. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right, own } from '../../json/index.ts'
import type { ExportedHead } from '../record/exported.ts'
import { emptyRange } from '../../proof/kit.ts'
import type { CopiedClaim, ErasedRow, Erasure, Head, Store, StoreFault, StoreFaultOf } from '../../store/index.ts'
import {
  appendToLedger,
  erasureOf,
  identityAt,
  headOf,
  ledgerContent,
  stubLeaf,
  type LedgerRow,
} from '../../store/kit.ts'
import type { ImportFault } from '../fault.ts'
import type { PlacedRow } from './copy-encrypted.ts'
import { type TimedExport, encodedOf } from './store-rows.ts'

/** The rows of a record that were erased, as they are stored, each with its place. */
export const rowsErased = (rows: Iterable<TimedExport>, store: Store): readonly PlacedRow[] => {
  const found: PlacedRow[] = []
  let position = 0
  let messages = 0
  for (const row of rows) {
    if (own(row, 'erased') !== undefined) {
      const encoded = encodedOf(row, store)
      const index = 'message' in row ? messages : position - messages
      if (!isLeft(encoded)) found.push({ position, index, row: encoded.right.row })
    }
    position += 1
    if ('message' in row) messages += 1
  }
  return found
}

export type Reasons = ReadonlyMap<string, Erasure>

/** Why the rows of a store were erased, by their place and leaf. */
export const reasonsIn = async (store: Store): Promise<Either<StoreFault, Reasons>> => {
  const content = await ledgerContent(store)
  if (isLeft(content)) return content
  return right(
    new Map(content.right.erasures.flatMap((one) => one.rows.map(({ row, leaf }) => [`${row} ${leaf}`, one] as const))),
  )
}

/** Say in a ledger what was erased elsewhere, so that rows without a text can be stored. Nothing, where it is said already. */
export const sayErased = async (
  store: Store,
  own: string,
  id: string,
  head: ExportedHead,
  rows: readonly PlacedRow[],
  reasons: () => Promise<Either<StoreFault, Reasons>>,
): Promise<Either<ImportFault, void>> => {
  if (rows.length === 0) return right(undefined)
  const why = await reasons()
  if (isLeft(why)) return why as Either<ImportFault, never>
  const identities = await store.identities(own)()
  if (isLeft(identities)) return identities
  const said = await appendToLedger(store, async (ledger) => {
    if (ledger.held.has(own)) return left<StoreFaultOf<'LogHeld'>>({ _tag: 'LogHeld', id: own })
    const groups = new Map<Erasure | undefined, ErasedRow[]>()
    for (const { position, index, row } of rows) {
      const { kind, body, at, erased: leaf = '' } = row
      const stood = { position, kind, body, erased: leaf, at }
      if (erasureOf(ledger, stood, identities.right, store.hash) !== undefined) continue
      const by = why.right.get(`${position} ${leaf}`)
      const group = groups.get(by) ?? []
      groups.set(by, group)
      group.push({
        log: identityAt(identities.right, position),
        row: position,
        kind,
        index,
        leaf,
        stub: stubLeaf(stood, store.hash),
      })
    }
    const news = [...groups].map(([by, named]): LedgerRow => ({
      type: 'erased',
      id,
      head: { size: head.size, root: head.root ?? headOf(emptyRange, store.hash).root },
      rows: named,
      copied: copiedOf(by),
    }))
    return right({ rows: news, more: {} })
  })
  return isLeft(said) ? (said as Either<ImportFault, never>) : right(undefined)
}

/** What the other store says, which is no word of this one. */
const copiedOf = (by: Erasure | undefined): CopiedClaim => {
  if (by?.copied !== undefined) return by.copied
  const { at, reason, by: person } = by ?? { at: undefined, reason: 'erased before it was exported', by: undefined }
  return {
    ...(at !== undefined && { at }),
    ...(reason !== undefined && { reason }),
    ...(person !== undefined && { by: person }),
  }
}

/** Erase in a copy what was erased in the record since it was copied. */
export const eraseThere = async (
  to: Store,
  id: string,
  expected: Head,
  rows: readonly PlacedRow[],
  from: Store,
): Promise<Either<ImportFault, void>> => {
  if (rows.length === 0) return right(undefined)
  const why = await reasonsIn(from)
  if (isLeft(why)) return why as Either<ImportFault, never>
  const first = rows
    .map(({ position, row }) => why.right.get(`${position} ${row.erased}`))
    .find((by) => by !== undefined)
  const erased = await to.erase({
    logs: [{ id, expected, rows: rows.map(({ position, row }) => ({ position, stub: row.body })) }],
    copied: copiedOf(first),
  })()
  return isLeft(erased) ? erased : right(undefined)
}

/** Hold a copy where the session is held. Before it is a session: so it is never one that can be erased. */
export const holdThere = async (
  from: Store,
  to: Store,
  id: string,
  head: Head,
  own: string = id,
): Promise<Either<ImportFault, void>> => {
  const content = await ledgerContent(from)
  if (isLeft(content)) return content as Either<ImportFault, never>
  const hold = content.right.held.get(id)
  if (hold === undefined) return right(undefined)
  const { reason, by } = hold
  const identities = await to.identities(own)()
  if (isLeft(identities)) return identities
  const row: LedgerRow = {
    type: 'held',
    id,
    head,
    logs: identities.right,
    ...(reason !== undefined && { reason }),
    ...(by !== undefined && { by }),
  }
  const said = await appendToLedger(to, async ({ held }) => right({ rows: held.has(id) ? [] : [row], more: {} }))
  return isLeft(said) ? (said as Either<ImportFault, never>) : right(undefined)
}
