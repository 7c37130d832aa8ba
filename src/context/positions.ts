/** Positions of the record within a view: a conversation omits some, and a slice starts later. */
import type { View } from '../history/index.ts'
import type { Range } from '../sequence/index.ts'
import type { Message } from '../message/index.ts'

/** The index in a view of the message at a record position; -1 if the view does not contain it. */
export const indexIn = (view: View<Message>, position: number): number => {
  const index = view.before(position)
  return index < view.length && view.positionAt(index) === position ? index : -1
}

/** The messages of a view between two positions of the record. */
export const viewBetween = (view: View<Message>, { from, to }: Range): View<Message> =>
  view.slice(view.before(from), view.before(to))

/** The end of a view in the record: the number of messages the record had. */
export const endOf = (view: View<Message>): number => view.positionAt(view.length) as number
