/** Copies conversations between sessions of the Agents SDK, into a record or out of one. */
import type { AgentInputItem, Session } from '@openai/agents-core'
import { optionsOf } from 'indelible/internal/json'

/** The source of items: any session of the SDK, such as `MemorySession` or one in a file or database. */
type ItemSource = Pick<Session, 'getItems'>

/**
 * Copy the items of one session to the end of another. Into a record: `copyItems(old, agentsSession(store,
 * { sessionId }))`. Back out: `copyItems(agentsSession(store, { sessionId }), other)`.
 *
 * @param to the session to write to; it must be empty
 * @param options a signal that ends it before the items are written: all of them or none
 * @throws Error if the target has items already, because a second copy would store them twice; the signal's reason
 */
export const copyItems = async (
  from: ItemSource,
  to: Pick<Session, 'getItems' | 'addItems'>,
  options: { readonly signal?: Pick<AbortSignal, 'throwIfAborted'> } = {},
): Promise<number> => {
  const { signal } = optionsOf('copyItems', options, { signal: true })
  signal?.throwIfAborted()
  const there = await to.getItems(1)
  if (there.length > 0)
    throw new Error('the target session already has items; expected an empty one. Nothing was copied.')
  const items: AgentInputItem[] = await from.getItems()
  signal?.throwIfAborted()
  await to.addItems(items)
  return items.length
}
