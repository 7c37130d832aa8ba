/** Undone erasures: rows with a text although the ledger records their erasure, because an older state was restored. */
import type { Either } from 'fp-ts/lib/Either.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import { isLeft, left, right } from '../../json/index.ts'
import type { LogFault, StoreFaultOf } from '../fault.ts'
import { ledgerContent, placeOf } from './ledger.ts'
import { identitiesIn, identityAt } from '../port/identity.ts'
import { isOwnId } from '../port/own-logs.ts'
import type { Erasure } from '../port/ledger-row.ts'
import type { StoredRow } from '../port/row.ts'
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
 * Cost    O(new rows of the ledger), and a read for each row recorded as erased
 *
 * @returns the rows; or `NotALedger`
 */
export const undoneErasures = async (
  store: LogReader,
): Promise<Either<LogFault | StoreFaultOf<'NotALedger'>, readonly UndoneErasure[]>> => {
  const content = await ledgerContent(store)
  if (isLeft(content)) return content
  const undone = new Map<string, UndoneErasure>()
  for (const erasure of content.right.erasures) {
    const { id } = erasure
    for (const { row: position, leaf } of erasure.rows) {
      const read = await store.read(id, { from: position, to: position + 1 })()
      if (isLeft(read) && (read.left._tag === 'Io' || read.left._tag === 'Busy')) return read
      const [row] = isLeft(read) ? [] : read.right // missing and damaged logs are reported elsewhere
      if (row === undefined || row.erased !== undefined || bytesToHex(rowLeaf(row, store.hash)) !== leaf) continue
      undone.set(`${position} ${id}`, { position, erasure })
    }
  }
  return right([...undone.values()])
}

/**
 * Fail if one of these rows of a log has a text although the ledger records its erasure. An unreadable ledger is
 * reported elsewhere.
 *
 * Cost    O(new rows of the ledger)
 *
 * @returns the rows; or `DamagedLog` at the first such row
 */
export const refuseUndone = async (
  store: LogReader,
  id: string,
  rows: readonly StoredRow[],
): Promise<Either<LogFault, readonly StoredRow[]>> => {
  if (isOwnId(id)) return right(rows)
  const content = await ledgerContent(store)
  if (isLeft(content))
    return content.left._tag === 'Io' || content.left._tag === 'Busy' ? left(content.left) : right(rows)
  const { erasedAt } = content.right
  if (erasedAt.size === 0) return right(rows)
  const info = await store.info(id)()
  if (isLeft(info)) return info
  const identities = identitiesIn(info.right.meta)
  for (const row of rows) {
    const { position } = row
    const erasure =
      row.erased === undefined ? erasedAt.get(placeOf(identityAt(identities, position), position)) : undefined
    if (erasure === undefined || !isNamed(erasure, position, bytesToHex(rowLeaf(row, store.hash)))) continue
    const again = await store.read(id, { from: position, to: position + 1 })()
    if (isLeft(again)) return again
    if (again.right[0]?.erased !== undefined) continue // it was erased after it was read
    const reason = undoneText({ position, erasure })
    return left({ _tag: 'DamagedLog', id, position, reason, advice: undoneAdvice })
  }
  return right(rows)
}

const isNamed = ({ rows }: Erasure, position: number, leaf: string): boolean =>
  rows.some((one) => one.row === position && one.leaf === leaf)

/** The problem of an undone erasure, as a clause. */
export const undoneText = ({ erasure: { at, reason } }: UndoneErasure): string =>
  `the ledger records that it was erased${at === undefined ? '' : ` at ${new Date(at).toISOString()}`}${reason === undefined ? '' : ` (${reason})`}, but its text is still there: an older state was restored`

/** The cure of an undone erasure. */
export const undoneAdvice = 'erase it again'

type LogReader = Pick<Store, 'info' | 'read' | 'nodes' | 'hash'>
