/** Rows that a store's ledger records as erased, and that an older export or copy still has with their text. */
import { bytesToHex } from '@noble/hashes/utils.js'
import type { Either } from 'fp-ts/lib/Either.js'
import type { Store, StoreFaultOf } from '../../store/index.ts'
import { ledgerContent, rowLeaf, type LedgerContent, type TimedRow, type Erasure } from '../../store/internal.ts'
import { fail, need, type Steps } from '../../task/index.ts'
import type { ImportFault } from '../fault.ts'

/** Narrows the fault type: a ledger has every store fault, an import only its own. */
export const contentOf = (store: Store): Promise<Either<ImportFault, LedgerContent>> =>
  ledgerContent(store) as Promise<Either<ImportFault, LedgerContent>>

/** Erasures, by row and leaf. */
export type Reasons = ReadonlyMap<string, Erasure>

/** The erasures of a store's ledger. */
export async function* reasonsIn(store: Store): Steps<ImportFault, Reasons> {
  const content = yield* need(contentOf(store))
  return new Map(
    content.erasures.flatMap((erasure) => erasure.rows.map(({ row, leaf }) => [`${row} ${leaf}`, erasure] as const)),
  )
}

/** Fails at a row that has a text although a row with its leaf was erased at this position of a log. */
export async function* refuseErased(
  erased: Reasons,
  from: number,
  rows: readonly TimedRow[],
  { hash }: Store,
): Steps<StoreFaultOf<'InvalidRow'>, void> {
  for (const [offset, row] of erased.size === 0 ? [] : rows.entries()) {
    const by = row.erased === undefined ? erased.get(`${from + offset} ${bytesToHex(rowLeaf(row, hash))}`) : undefined
    if (by === undefined) continue
    const because = by.reason === undefined ? '' : ` (${by.reason})`
    const reason = `has a text that was erased in this store at ${new Date(by.at).toISOString()}${because}: store it in another store, erase it there, and copy the session from there`
    return yield* fail({ _tag: 'InvalidRow', index: from + offset, reason })
  }
}
