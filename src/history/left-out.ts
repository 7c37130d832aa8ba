/** What a view of a record has not. */
import type { Range } from '../sequence/index.ts'
import type { View } from './view.ts'

/** The ranges of positions before its end that a view leaves out: `without` of all before it gives it again. Cost: O(length). */
export const leftOut = (view: View<unknown>): readonly Range[] => {
  const ranges: Range[] = []
  let next = 0
  for (let index = 0; index <= view.length; index++) {
    const position = view.positionAt(index) as number
    if (position > next) ranges.push({ from: next, to: position })
    next = position + 1
  }
  return ranges
}
