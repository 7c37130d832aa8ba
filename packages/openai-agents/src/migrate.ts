/** Conversations from one session of the Agents SDK to another: into a record, and out of it again. */
import type { AgentInputItem, Session } from '@openai/agents-core'

/** Where items come from: any session of the SDK, such as `MemorySession`, a file's or a database's. */
export type ItemSource = Pick<Session, 'getItems'>

/**
 * Copy the items of one session to the end of another, and give their number. Into a record:
 * `copyItems(old, agentsSession(store, { sessionId }))`. Back out:
 * `copyItems(agentsSession(store, { sessionId }), other)`.
 *
 * Throws  an error if the target has items already: a copy that is run twice would store them twice
 *
 * @param to the session to write; it must be empty
 * @returns the number of items
 * @throws Error if the target has items already, because a second copy would store them twice
 */
export const copyItems = async (from: ItemSource, to: Pick<Session, 'getItems' | 'addItems'>): Promise<number> => {
  const there = await to.getItems(1)
  if (there.length > 0)
    throw new Error('the session to copy to has items already; expected an empty one. Nothing was copied.')
  const items: AgentInputItem[] = await from.getItems()
  await to.addItems(items)
  return items.length
}
