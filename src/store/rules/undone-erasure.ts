/** Undone erasures: rows with a text although the ledger records their erasure, because an older state was restored. */
import type { Either } from 'fp-ts/lib/Either.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import { isLeft, left, right } from '../../json/index.ts'
import type { Bounds } from '../../sequence/index.ts'
import type { LogFault, StoreFaultOf } from '../fault.ts'
import { ledgerContent } from './ledger.ts'
import { identityAt, type LogIdentity } from '../port/identity.ts'
import type { Erasure } from '../port/ledger-row.ts'
import type { StoredRow } from '../port/row.ts'
import { sliceRows, Slices } from '../port/slices.ts'
import type { Store } from '../port/store.ts'
import { rowLeaf } from '../port/tree.ts'

/** A row whose erasure was undone. */
interface UndoneErasure {
  /** The position of the row in the log that the erasure names. */
  readonly position: number
  /** The ledger's entry. */
  readonly erasure: Erasure
}

/**
 * Find the rows that the scope's ledger records as erased but that still have the original text.
 *
 * Cost    O(new rows of the ledger), and a read for each run of up to 256 rows recorded as erased
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
    const leaves = new Map<number, string>()
    for (const { log, row: position, leaf } of erasure.rows) {
      if (erasure.id !== id && identityAt(of?.identities ?? [], position) !== log) continue // a fork shares the rows
      if (of?.stubs.has(position) !== true) leaves.set(position, leaf)
    }
    for (const range of rangesOf([...leaves.keys()])) {
      const rows = await readableRows(store, id, range)
      if (isLeft(rows)) return rows
      for (const row of rows.right) {
        const { position, erased, body } = row
        await slices.next(body.length)
        if (erased === undefined && bytesToHex(rowLeaf(row, store.hash)) === leaves.get(position))
          undone.set(`${position} ${id}`, { position, erasure })
      }
    }
  }
  return right([...undone.values()])
}

/** Adjacent positions as ranges of at most 256. */
const rangesOf = (positions: readonly number[]): readonly Bounds[] => {
  const ranges: Bounds[] = []
  for (const position of positions.toSorted((a, b) => a - b)) {
    const last = ranges.at(-1)
    if (last?.end === position && position - last.start < sliceRows)
      ranges[ranges.length - 1] = { start: last.start, end: position + 1 }
    else ranges.push({ start: position, end: position + 1 })
  }
  return ranges
}

/** The rows of a range, without missing and damaged ones, which are reported elsewhere. */
const readableRows = async (
  store: LogReader,
  id: string,
  { start, end }: Bounds,
): Promise<Either<LogFault, readonly StoredRow[]>> => {
  const read = await store.read(id, { from: start, to: end })()
  if (!isLeft(read)) return read
  if (read.left._tag === 'Io' || read.left._tag === 'Busy') return read
  const rows: StoredRow[] = []
  if (end - start === 1) return right(rows)
  for (let at = start; at < end; at++) {
    const single = await readableRows(store, id, { start: at, end: at + 1 })
    if (isLeft(single)) return single
    for (const row of single.right) rows.push(row)
  }
  return right(rows)
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
  const [first] = undone.right.toSorted((a, b) => a.position - b.position)
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
