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
  const all: Range[] =
    gaps === undefined ? [] : gaps.froms.map((from, index) => ({ from, to: gaps.tos[index] as number }))
  for (const [index, range] of ranges.entries()) {
    // Read once, so that the checked values are the used values, and not from a prototype.
    const { from, to } = { __proto__: null, ...range } as Range
    if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to) || from < 0 || to < from)
      throw new TypeError(`range ${index} is invalid: expected whole numbers, 0 ≤ from ≤ to`)
    if (from < to) all.push({ from, to })
  }
  const froms: number[] = []
  const tos: number[] = []
  const ranks: number[] = []
  let end = -1 // of the last gap
  let left = 0 // number of values left out so far
  for (const { from, to } of all.toSorted((a, b) => a.from - b.from)) {
    if (to <= end) continue
    if (from > end) {
      froms.push(from)
      ranks.push(from - left)
      left += to - from
    } else {
      tos.pop()
      left += to - end
    }
    tos.push(to)
    end = to
  }
  if (froms.length === 0) return undefined
  return Object.freeze({ froms: Object.freeze(froms), tos: Object.freeze(tos), ranks: Object.freeze(ranks) })
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
const lastUpTo = (numbers: readonly number[], value: number): number =>
  countWhile(numbers.length, (index) => (numbers[index] as number) <= value) - 1

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
