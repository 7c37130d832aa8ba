/** Computes the part of the record that a prompt within a limit keeps, and the prompt as a history of refs. */
import { hasField } from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import { manageHistory } from '../managed/manage-history.ts'
import { createRefHistory, type MessageRef } from '../refs/index.ts'
import { itemAt } from 'indelible/internal/sequence'
import { checkLimit } from './check.ts'
import { storeMessage, type Host } from './host.ts'
import type { ManageInput, ManageResult } from './input.ts'
import { readHistory } from './readable.ts'

/** Throws ActivityFailed. */
export const manage = async (host: Host, { history, ...limit }: ManageInput): Promise<ManageResult> => {
  checkLimit(limit)
  const { refs, adopted } = await host.read(history)
  const { blocks } = host.open(refs.scope)
  const { view, lost } = await readHistory(host, blocks, refs)
  const { messages, retained, residency, tokens: size, budget, overBudget } = manageHistory(view, limit)
  const shown = [...residency].flatMap((level, position) => (level === 'pointer' ? [] : [position]))
  const known = new Map<Message, MessageRef>()
  for (const [position, ref] of refs.refs().entries()) known.set(itemAt(view, position), ref)
  const kept = createRefHistory({ scope: refs.scope, session: refs.session })
  for (let index = 0; index < messages.length; index++) {
    const message = itemAt(messages, index)
    kept.append(known.get(message) ?? (await storeMessage(blocks, message)))
  }
  return {
    retained,
    shown,
    size,
    limit: hasField(limit, 'maxTokens') ? limit.maxTokens : (limit.maxChars ?? budget),
    overBudget,
    ...(lost > 0 && { lost }),
    history: kept.toJSON(),
    ...(adopted && { adopted: refs.toJSON() }),
  }
}
