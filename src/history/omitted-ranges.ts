/** The positions that a view leaves out of its record. */
import type { Range } from '../sequence/index.ts'
import type { View } from './view.ts'

/**
 * The ranges of positions that a view leaves out before its end. Passing them to `omitRanges` with the
 * whole history rebuilds the view. Cost: O(length).
 *
 * @param view a view, often one that `omitRanges` made
 * @returns the ranges, in order
 */
export const omittedRanges = (view: View<unknown>): readonly Range[] => {
  const ranges: Range[] = []
  let next = 0
  for (let index = 0; index <= view.length; index++) {
    const position = view.positionAt(index) as number
    if (position > next) ranges.push({ from: next, to: position })
    next = position + 1
  }
  return ranges
}
