/** Derives the context for a model call. */
import type { Either } from 'fp-ts/lib/Either.js'
import { hasField, isLeft, right } from 'indelible/internal/json'
import { deriveContext, type ContextFault, type DerivedContext } from 'indelible/context'
import { textTokens } from 'indelible/internal/context'
import type { View } from 'indelible/history'
import { mend, type Message } from 'indelible/message'
import { itemAt, type Sequence } from 'indelible/internal/sequence'
import { rightOrFail } from './activity-errors.ts'
import { manageHistory } from '../managed/manage-history.ts'
import type { Host } from './host.ts'
import type { StreamInput } from './input.ts'
import type { ModelContext } from 'indelible/internal/run'

export interface SentContext extends ModelContext {
  readonly overBudget: boolean
}

/** The messages to send, and how many of them the previous call sent already. Throws ActivityFailed. */
export const contextOf = (view: View<Message>, { limit, tools = [] }: StreamInput, host: Host): SentContext => {
  let answer = view.length - 1
  while (answer > 0 && view.at(answer)?.role !== 'assistant') answer -= 1
  if (limit === undefined) {
    // Messages recorded out of order are sent in the right order, as with a limit: refs can't be reordered later.
    const { messages, repairs } = mend(view)
    const stablePrefix = repairs.length === 0 ? answer : sameLength(mend(view.slice(0, answer)).messages, messages)
    return { messages, stablePrefix: Math.max(0, stablePrefix), overBudget: false }
  }
  const toolTokens = tools.length === 0 ? 0 : textTokens(JSON.stringify(tools))
  const derive = (of: View<Message>, previous: DerivedContext | undefined): Either<ContextFault, DerivedContext> =>
    hasField(limit, 'budget')
      ? deriveContext(of, { toolTokens, ...host.derive, budget: limit.budget, previous })
      : right(manageHistory(of, { ...limit, previous }))
  const before = answer > 0 ? derive(view.slice(0, answer), undefined) : undefined
  const derived = rightOrFail(derive(view, before === undefined || isLeft(before) ? undefined : before.right))
  return {
    messages: derived.messages,
    stablePrefix: derived.stablePrefix,
    overBudget: hasField(derived, 'overBudget') && derived.overBudget === true,
  }
}

/** The length of the common prefix. `mend` creates new messages each time, so they are compared as JSON. */
const sameLength = (a: Sequence<Message>, b: Sequence<Message>): number => {
  const most = Math.min(a.length, b.length)
  for (let index = 0; index < most; index++) {
    const [left, right] = [itemAt(a, index), itemAt(b, index)]
    if (left !== right && JSON.stringify(left) !== JSON.stringify(right)) return index
  }
  return most
}
