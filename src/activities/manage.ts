/** What a prompt within a limit keeps of the record, and the prompt itself as a history of refs. */
import { manageHistory } from '../context/index.ts'
import type { Message } from '../message/index.ts'
import { createRefHistory, hydrate, type MessageRef } from '../refs/index.ts'
import { itemAt } from '../sequence/index.ts'
import { checkLimit } from './check.ts'
import { given } from './failed.ts'
import { stored, type Host } from './host.ts'
import type { ManageInput, ManageResult } from './input.ts'

/** Throws Failed. */
export const manage = async (host: Host, { history, ...limit }: ManageInput): Promise<ManageResult> => {
  checkLimit(limit)
  const { refs, adopted } = await host.read(history)
  const { blocks } = host.open(refs.scope)
  const view = given(await hydrate(blocks, refs)()).view()
  const { messages, retained, residency, tokens: size, budget, overBudget } = manageHistory(view, limit)
  const shown = [...residency].flatMap((level, position) => (level === 'pointer' ? [] : [position]))
  const known = new Map<Message, MessageRef>()
  for (const [position, ref] of refs.refs().entries()) known.set(itemAt(view, position), ref)
  const kept = createRefHistory({ scope: refs.scope, ...(refs.session !== undefined && { session: refs.session }) })
  for (let index = 0; index < messages.length; index++) {
    const message = itemAt(messages, index)
    kept.append(known.get(message) ?? (await stored(blocks, message)))
  }
  return {
    retained,
    shown,
    size,
    limit: 'maxTokens' in limit ? limit.maxTokens : (limit.maxChars ?? budget),
    overBudget,
    history: kept.toJSON(),
    ...(adopted && { adopted: refs.toJSON() }),
  }
}
