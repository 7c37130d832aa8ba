/** Finding rows and logs: the computations that all drivers share. */
import { isObject, type JsonObject, ownFields } from '../../json/index.ts'
import { countWhile, sliceBounds, type Bounds } from '../../sequence/index.ts'
import type { KindIndex } from './rules.ts'
import type { LogInfo, RowRange, Where } from '../port/store.ts'
import type { RowKind } from '../port/row.ts'

/** A range of positions, from `start` up to, not including, `end`. */
export type Positions = Bounds

/**
 * The positions of a range over a log.
 *
 * @param log the head and the counts of the log
 * @param rowAt returns a row's place; called O(log length) times, and only if the range is of one kind
 */
export const positionsOf = (
  log: Pick<LogInfo, 'head' | 'entries'>,
  range: RowRange,
  rowAt: (position: number) => KindIndex,
): Positions => {
  const { from, to, only } = ownFields(range)
  const { size } = log.head
  if (only === undefined) return sliceBounds(size, from, to)
  const { start, end } = sliceBounds(only === 'entry' ? log.entries : size - log.entries, from, to)
  if (start === end) return { start: 0, end: 0 }
  return { start: positionOf(only, start, size, rowAt), end: positionOf(only, end - 1, size, rowAt) + 1 }
}

/** The position of the row with this index among the rows of its kind. The row must exist. */
const positionOf = (kind: RowKind, index: number, size: number, rowAt: (position: number) => KindIndex): number => {
  const isBefore = (ahead: number): boolean => {
    const position = index + ahead // at least `index` rows come before it
    const row = rowAt(position)
    return (row.kind === kind ? row.index + 1 : position - row.index) <= index // rows of the kind up to the position
  }
  return index + countWhile(size - 1 - index, isBefore)
}

/**
 * Whether metadata matches a filter.
 *
 * @param meta the metadata of a log
 * @param where the filter
 * @returns true if it has the same value under each key of the filter
 */
export const matches = (meta: JsonObject, where: Where): boolean =>
  Object.keys(where).every((key) => {
    if (!Object.hasOwn(meta, key)) return false
    const [found, wanted] = [meta[key], where[key]]
    return isWhere(wanted) ? isObject(found) && matches(found, wanted) : found === wanted
  })

const isWhere = (wanted: Where[string] | undefined): wanted is Where => typeof wanted === 'object' && wanted !== null
