/** Undone erasures: rows with a text although the ledger records their erasure, because an older state was restored. */
import type { Either } from 'fp-ts/lib/Either.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import { isLeft, right } from '../../json/index.ts'
import type { LogFault, StoreFaultOf } from '../fault.ts'
import { ledgerContent } from './ledger.ts'
import type { Erasure } from '../port/ledger-row.ts'
import type { Store } from '../port/store.ts'
import { rowLeaf } from '../port/tree.ts'

/** A row whose erasure was undone. */
export interface UndoneErasure {
  /** The position of the row in the log that the erasure names. */
  readonly position: number
  /** The ledger's entry. */
  readonly erasure: Erasure
}

/**
 * Find the rows that the scope's ledger records as erased but that still have the original text.
 *
 * Cost    O(rows of the ledger), and a read for each row recorded as erased
 *
 * @param id only this log. Default: all
 * @returns the rows; or `NotALedger`
 */
export const undoneErasures = async (
  store: Pick<Store, 'info' | 'read' | 'nodes' | 'hash'>,
  id?: string,
): Promise<Either<LogFault | StoreFaultOf<'NotALedger'>, readonly UndoneErasure[]>> => {
  const content = await ledgerContent(store)
  if (isLeft(content)) return content
  const undone = new Map<string, UndoneErasure>()
  for (const erasure of content.right.erasures) {
    if (id !== undefined && erasure.id !== id) continue
    for (const { row: position, leaf } of erasure.rows) {
      const read = await store.read(erasure.id, { from: position, to: position + 1 })()
      if (isLeft(read) && (read.left._tag === 'Io' || read.left._tag === 'Busy')) return read
      const [row] = isLeft(read) ? [] : read.right // missing and damaged logs are reported elsewhere
      if (row === undefined || row.erased !== undefined || bytesToHex(rowLeaf(row, store.hash)) !== leaf) continue
      undone.set(`${position} ${erasure.id}`, { position, erasure })
    }
  }
  return right([...undone.values()])
}

/** The problem of an undone erasure, as a clause. */
export const undoneText = ({ erasure: { at, reason } }: UndoneErasure): string =>
  `the ledger records that it was erased${at === undefined ? '' : ` at ${new Date(at).toISOString()}`}${reason === undefined ? '' : ` (${reason})`}, but its text is still there: an older state was restored; erase it again`
