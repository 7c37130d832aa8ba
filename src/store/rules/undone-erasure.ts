/** Undone erasures: rows with a text although the ledger records their erasure, because an older state was restored. */
import type { Either } from 'fp-ts/lib/Either.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import { isLeft, left, right } from '../../json/index.ts'
import type { LogFault, StoreFaultOf } from '../fault.ts'
import { ledgerContent } from './ledger.ts'
import { identityAt, type LogIdentity } from '../port/identity.ts'
import type { Erasure } from '../port/ledger-row.ts'
import { Slices } from '../port/slices.ts'
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
 * @param of only this log, without the rows in `stubs`. Default: all logs
 * @returns the rows; or `NotALedger`
 */
export const undoneErasures = async (
  store: LogReader,
  of?: { readonly id: string; readonly stubs: Positions; readonly identities: readonly LogIdentity[] },
): Promise<Either<LogFault | StoreFaultOf<'NotALedger'>, readonly UndoneErasure[]>> => {
  const content = await ledgerContent(store)
  if (isLeft(content)) return content
  const undone = new Map<string, UndoneErasure>()
  const slices = new Slices()
  for (const erasure of content.right.erasures) {
    const { id } = of ?? erasure
    for (const { log, row: position, leaf } of erasure.rows) {
      if (erasure.id !== id && identityAt(of?.identities ?? [], position) !== log) continue // a fork shares the rows
      if (of?.stubs.has(position) === true) continue
      await slices.next()
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
 * Fail if a row of a log has a text although the ledger records its erasure. An unreadable ledger is reported elsewhere.
 *
 * @param stubs the positions of rows that were read without a text
 * @returns `DamagedLog` at the first such row
 */
export const refuseUndone = async (
  store: Store,
  id: string,
  stubs: Positions = new Set(),
): Promise<Either<LogFault, undefined>> => {
  const bare = store.encryption?.bare ?? store
  const identities = await bare.identities(id)()
  if (isLeft(identities)) return identities
  const undone = await undoneErasures(bare, { id, stubs, identities: identities.right })
  if (isLeft(undone))
    return undone.left._tag === 'Io' || undone.left._tag === 'Busy' ? left(undone.left) : right(undefined)
  const [first] = undone.right.toSorted((one, other) => one.position - other.position)
  if (first === undefined) return right(undefined)
  return left({ _tag: 'DamagedLog', id, position: first.position, reason: undoneText(first), advice: undoneAdvice })
}

/** The problem of an undone erasure, as a clause. */
export const undoneText = ({ erasure: { at, reason } }: UndoneErasure): string =>
  `the ledger records that it was erased${at === undefined ? '' : ` at ${new Date(at).toISOString()}`}${reason === undefined ? '' : ` (${reason})`}, but its text is still there: an older state was restored`

/** The cure of an undone erasure. */
export const undoneAdvice = 'erase it again'

type LogReader = Pick<Store, 'info' | 'read' | 'nodes' | 'hash'>

type Positions = Pick<ReadonlySet<number>, 'has'>
