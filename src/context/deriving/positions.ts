/** Positions of the record in a view of it: a conversation leaves some out, and a slice starts later. */
import type { View } from '../../history/index.ts'
import type { Range } from '../../sequence/index.ts'
import type { Message } from '../../message/index.ts'

/** The index in a view of the message at a position of the record; -1 if the view has it not. */
export const indexIn = (view: View<Message>, position: number): number => {
  const index = view.before(position)
  return index < view.length && view.positionAt(index) === position ? index : -1
}

/** The messages of a view between two positions of the record. */
export const viewBetween = (view: View<Message>, { from, to }: Range): View<Message> =>
  view.slice(view.before(from), view.before(to))

/** How many of so many things in order come first that hold. Cost: O(log of them). */
export const countWhile = (count: number, holds: (index: number) => boolean): number => {
  let [low, high] = [0, count]
  while (low < high) {
    const middle = (low + high) >> 1
    if (holds(middle)) low = middle + 1
    else high = middle
  }
  return low
}

/** Where a view ends in the record: how many messages the record had. */
export const endOf = (view: View<Message>): number => view.positionAt(view.length) as number
