/** What a run sends of a damaged record: a copy that `mend` settles. The record stays as it is. */
import type { View } from '../../history/index.ts'
import { mend, type Message, type Repair, type Sequence, type Settled } from '../../message/index.ts'
import { jsonEqual, snapshot } from '../../json/index.ts'

/** The repairs, with the positions of the record. A view omits retracted messages, so its indexes are others. */
export const repairsIn = (view: View<Message>): readonly Repair[] => {
  const { repairs } = mend(view)
  const recorded = (place: object): object => {
    const fields = Object.entries(place).map(([name, value]: [string, unknown]) => {
      if (name === 'position') return [name, view.positionAt(value as number) ?? value]
      return [name, typeof value === 'object' && value !== null ? recorded(value) : value]
    })
    return Object.fromEntries(fields) as object
  }
  return repairs.length === 0 ? repairs : (snapshot(repairs.map(recorded) as never) as never) // the same fields
}

/** The messages to send of a view, and how many of them the last request had at the same place. */
export const mendedContext = (
  view: Sequence<Message>,
  before: Sequence<Message> | undefined,
): { readonly messages: Settled<Sequence<Message>>; readonly stablePrefix: number } => {
  const { messages, repairs } = mend(view)
  const known = before?.length ?? 0
  if (repairs.length === 0 || before === undefined) return { messages, stablePrefix: known }
  // `mend` makes new messages each time, so they are compared.
  const [old, now] = [[...before], [...messages]]
  const other = old.findIndex((message, index) => message !== now[index] && !jsonEqual(message, now[index]))
  return { messages, stablePrefix: other === -1 ? Math.min(known, now.length) : other }
}
