/**
 * Gaps: ranges of a storage that a run of values leaves out. A value has a position in the storage,
 * and a rank: the number of kept values before it. Without gaps, both are equal.
 */

/** Positions from `from` up to, not including, `to`. */
export interface Range {
  /** The first position. */
  readonly from: number
  /** The position after the last one. */
  readonly to: number
}

/** Ranges in order, with space between them; `undefined` without gaps. */
export interface Gaps {
  /** The first position of each. */
  readonly froms: readonly number[]
  /** The position after each. */
  readonly tos: readonly number[]
  /** The rank of each: the number of kept values before it. */
  readonly ranks: readonly number[]
}

/** Merges ranges with existing gaps. Cost: O(n log n) in all of them. */
export const addGaps = (gaps: Gaps | undefined, ranges: readonly Range[]): Gaps | undefined => {
  const all: Range[] = listWithoutPrototype()
  for (let index = 0; index < ranges.length; index++) {
    const { from, to } = ranges[index] as Range // read once, so that the checked values are the used values
    if (!isSafeInteger(from) || !isSafeInteger(to) || from < 0 || to < from)
      throw new TypeError(`range ${index} is invalid: expected whole numbers, 0 ≤ from ≤ to`)
    if (from < to) all[all.length] = { from, to }
  }
  if (gaps !== undefined)
    for (let index = 0; index < gaps.froms.length; index++)
      all[all.length] = { from: gaps.froms[index] as number, to: gaps.tos[index] as number }
  // V8 assigns the only item of a list instead of defining it, which could run a setter of a prototype.
  const sorted =
    all.length < 2 ? all : (apply(toSorted, all, [(a: Range, b: Range) => a.from - b.from]) as readonly Range[])

  const froms: number[] = listWithoutPrototype()
  const tos: number[] = listWithoutPrototype()
  const ranks: number[] = listWithoutPrototype()
  let count = 0
  let left = 0 // number of values left out so far
  for (let index = 0; index < sorted.length; index++) {
    const { from, to } = sorted[index] as Range
    const last = count === 0 ? -1 : (tos[count - 1] as number)
    if (from > last) {
      froms[count] = from
      tos[count] = to
      ranks[count] = from - left
      count += 1
      left += to - from
    } else if (to > last) {
      tos[count - 1] = to
      left += to - last
    }
  }
  return count === 0 ? undefined : freeze({ froms: freeze(froms), tos: freeze(tos), ranks: freeze(ranks) })
}

/** The number of kept values before a position. Cost: O(log gaps). */
export const rankAt = (gaps: Gaps | undefined, position: number): number => {
  if (gaps === undefined) return position
  const index = lastUpTo(gaps.froms, position)
  if (index === -1) return position
  const rank = gaps.ranks[index] as number
  const to = gaps.tos[index] as number
  return position < to ? rank : rank + position - to
}

/** The position of the kept value with this rank. Cost: O(log gaps). */
export const positionOfRank = (gaps: Gaps | undefined, rank: number): number => {
  if (gaps === undefined) return rank
  const index = lastUpTo(gaps.ranks, rank)
  return index === -1 ? rank : rank - (gaps.ranks[index] as number) + (gaps.tos[index] as number)
}

/** The number of adjacent kept values from a rank up to the next gap. Cost: O(log gaps). */
export const runLengthAt = (gaps: Gaps | undefined, rank: number): number => {
  if (gaps === undefined) return Infinity
  const next = lastUpTo(gaps.ranks, rank) + 1
  return next === gaps.ranks.length ? Infinity : (gaps.ranks[next] as number) - rank
}

/** The index of the last number up to a value, in ascending numbers; -1 if there is none. */
const lastUpTo = (numbers: readonly number[], value: number): number => {
  let low = 0
  let high = numbers.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((numbers[middle] as number) <= value) low = middle + 1
    else high = middle
  }
  return low - 1
}

/** The length of the leading run of indexes for which `holds` is true. Binary search: O(log count). */
export const countWhile = (count: number, holds: (index: number) => boolean): number => {
  let low = 0
  let high = count
  while (low < high) {
    const middle = (low + high) >>> 1
    if (holds(middle)) low = middle + 1
    else high = middle
  }
  return low
}

const { freeze, setPrototypeOf } = Object
const { isSafeInteger } = Number
const { toSorted } = Array.prototype
const { apply } = Reflect

/** A list that ignores setters of `Array.prototype`. */
const listWithoutPrototype = <T>(): T[] => setPrototypeOf([], null) as T[]
