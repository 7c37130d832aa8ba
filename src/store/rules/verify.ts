/** Verifies that a log's rows are unchanged since they were appended. */
import type { Either } from 'fp-ts/lib/Either.js'
import { checkArgument, isObject, describe, isLeft, left, right } from '../../json/index.ts'
import type { CallbackThrew, Task } from '../../task/index.ts'
import { emptyRange, equalBytes, peakEnds, type CompactRange } from '../../proof/internal.ts'
import { storeTask, type LogFault, type VerifyFault } from '../fault.ts'
import type { LogInfo, Store } from '../port/store.ts'
import type { Head, StoredRow } from '../port/row.ts'
import { nextTurn, sliceRows } from '../port/slices.ts'
import { grow, headOf, rowLeaf } from '../port/tree.ts'
import { sameHead } from './rules.ts'

/**
 * Read a whole log, and check every row against the tree.
 *
 * Cost    O(log length), in pieces; two hashes for each row
 *
 * @param older an earlier head that the log must extend. Default: none
 * @returns the description of the log; or `DamagedLog` with the first wrong position, `Diverged` if
 * the log does not extend `older`
 */
export function verifyLog(store: Store, id: string, older?: Head): Task<VerifyFault, LogInfo>
/**
 * Read a whole log, and check every row against the tree and with a function of your own.
 *
 * Cost    O(log length), in pieces; two hashes for each row
 *
 * @param older an earlier head that the log must extend; undefined for none
 * @param inspect receives the valid rows, in pieces, and may report more faults
 * @returns the description of the log; or `DamagedLog`, `Diverged`, a fault of `inspect`, `CallbackThrew`
 */
export function verifyLog(
  store: Store,
  id: string,
  older: Head | undefined,
  inspect: InspectRows,
): Task<VerifyFault | CallbackThrew, LogInfo>
export function verifyLog(
  store: Store,
  id: string,
  head?: Head,
  inspect?: InspectRows,
): Task<VerifyFault | CallbackThrew, LogInfo> {
  if (typeof (Object(store) as Partial<Store>).info !== 'function')
    throw new TypeError(`verifyLog takes a store, such as memoryStore(), found ${describe(store)}`)
  checkArgument('verifyLog', head === undefined || isObject(head), 'a head', head)
  const older = head && { ...head }
  return storeTask(async () => {
    const found = await store.info(id)()
    if (isLeft(found)) return found
    const looking = inspect === undefined ? undefined : guardInspect(inspect)
    return readSameLog(store, found.right, (log) => verifyAt(store, log, older, looking))
  }, 'verifyLog')
}

/** Turns an exception of `inspect` into a fault. */
const guardInspect =
  (inspect: InspectRows): InspectRows =>
  async (rows) => {
    try {
      return await inspect(rows)
    } catch (cause) {
      return { _tag: 'CallbackThrew', callback: 'inspect', cause }
    }
  }

/**
 * Read a log that was described. Another process may remove it meanwhile, and create another one with its id: that is not
 * damage. So if damage is found, the log is looked for again, and another one is read.
 *
 * @param read is called again for another log
 * @returns what was read; or `NoSuchLog` if the log was removed
 */
export const readSameLog = async <F extends { readonly _tag: string }, T>(
  store: Pick<Store, 'info'>,
  described: LogInfo,
  read: (log: LogInfo) => Promise<Either<F, T>>,
): Promise<Either<F | LogFault, T>> => {
  let log = described
  for (let attempt = 1; ; attempt++) {
    const answer = await read(log)
    if (!isLeft(answer) || answer.left._tag !== 'DamagedLog') return answer
    const again = await store.info(log.id)()
    if (isLeft(again)) return again
    if (isSameLog(log, again.right)) return answer
    if (attempt === readings) return left({ _tag: 'NoSuchLog', id: log.id })
    log = again.right
  }
}

/** The maximum number of logs with the same id that are read one after the other. */
const readings = 50

/** Whether this is still the log that was read, perhaps with more rows. */
const isSameLog = (before: LogInfo, after: LogInfo): boolean =>
  before.created === after.created && before.head.size <= after.head.size

const verifyAt = async (
  store: Store,
  found: LogInfo,
  older: Head | undefined,
  inspect: InspectRows | undefined,
): Promise<Either<VerifyFault | CallbackThrew, LogInfo>> => {
  const { id, head, entries } = found
  const walk: Walk = {
    id,
    range: emptyRange,
    entries: 0,
    inspect,
  }
  const continued = Number.isSafeInteger(older?.size) ? (older as Head).size : 0
  let known = headOf(emptyRange, store.hash)
  while (walk.range.size < head.size) {
    const { size } = walk.range
    const fault = await verifyPiece(
      store,
      walk,
      Math.min(size + sliceRows, size < continued ? continued : Infinity, head.size),
    )
    if (fault !== undefined) return left(fault)
    if (walk.range.size < head.size) await nextTurn()
    if (walk.range.size === continued) known = headOf(walk.range, store.hash)
  }
  if (headOf(walk.range, store.hash).root !== head.root || walk.entries !== entries)
    return left({ _tag: 'DamagedLog', id, position: head.size, reason: 'the head does not match the rows' })
  if (older !== undefined && !sameHead(known, older))
    return left({ _tag: 'Diverged', id, expected: older, actual: head })
  return right(found)
}

/**
 * Checks rows that match the tree.
 *
 * @param rows a piece of the log
 * @returns the fault; undefined if the rows are valid
 */
export type InspectRows = (rows: readonly StoredRow[]) => Promise<VerifyFault | CallbackThrew | undefined>

/**
 * The tree of a log's first `size` rows, from the nodes stored beside them. Cost: O(log size).
 *
 * @param size the number of rows
 * @returns the tree; or `BeyondEnd`
 */
export const rangeAt = (store: Pick<Store, 'nodes'>, id: string, size: number): Task<LogFault, CompactRange> =>
  storeTask(async () => {
    const peaks = await store.nodes(
      id,
      peakEnds(size).map((end) => end - 1),
    )()
    return isLeft(peaks) ? peaks : right(Object.freeze({ size, peaks: peaks.right }))
  }, 'rangeAt')

interface Walk {
  readonly id: string
  readonly inspect: InspectRows | undefined
  range: CompactRange
  entries: number
}

const verifyPiece = async (store: Store, walk: Walk, to: number): Promise<VerifyFault | CallbackThrew | undefined> => {
  const from = walk.range.size
  const read = await pieceOf(store, walk.id, from, to)
  if (isLeft(read)) {
    // A row before the unreadable one may have been altered. The first damaged row is to be reported.
    const fault = read.left
    if (fault._tag !== 'DamagedLog' || fault.position <= from || fault.position >= to) return fault
    return (await verifyPiece(store, walk, fault.position)) ?? fault
  }
  const { rows, nodes } = read.right
  const leaves = rows.map((row) => rowLeaf(row, store.hash))
  const grown = grow(walk.range, leaves, store.hash)
  walk.range = grown.range
  for (const [offset, row] of rows.entries()) {
    const position = from + offset
    const index = row.kind === 'entry' ? walk.entries++ : position - walk.entries
    const isRight = equalBytes(grown.nodes[offset] as Uint8Array, nodes[offset] as Uint8Array)
    if (row.position === position && row.index === index && isRight) continue
    const earlier = await walk.inspect?.(rows.slice(0, offset))
    return earlier ?? { _tag: 'DamagedLog', id: walk.id, position, reason: 'the row was altered after it was appended' }
  }
  const found = await walk.inspect?.(rows)
  if (found !== undefined) return found
  return rows.length === to - from
    ? undefined
    : { _tag: 'DamagedLog', id: walk.id, position: from + rows.length, reason: 'rows are missing' }
}

interface Piece {
  readonly rows: readonly StoredRow[]
  readonly nodes: readonly Uint8Array[]
}

const pieceOf = async (store: Store, id: string, from: number, to: number): Promise<Either<LogFault, Piece>> => {
  const rows = await store.read(id, { from, to })()
  if (isLeft(rows)) return rows
  const nodes = await store.nodes(
    id,
    Array.from({ length: to - from }, (_, offset) => from + offset),
  )()
  return isLeft(nodes) ? nodes : right({ rows: rows.right, nodes: nodes.right })
}
