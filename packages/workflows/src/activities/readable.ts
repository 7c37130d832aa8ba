/** Reads a history for a model, with placeholders for lost content: one lost block must not block a chat forever. */
import { createHistory, type View } from 'indelible/history'
import { isLeft } from 'indelible/internal/json'
import { text, toolCallsOf, type Message } from 'indelible/message'
import { hydrate, hydratePartial, type RefHistory } from '../refs/index.ts'
import { itemAt } from 'indelible/internal/sequence'
import type { BlockStore } from 'indelible/store'
import { ActivityFailed, rightOrFail } from './activity-errors.ts'
import type { Host } from './host.ts'

/** A history ready to be sent. */
interface Readable {
  readonly view: View<Message>
  /** The number of placeholder messages. */
  readonly lost: number
}

/**
 * Read a history. Lost or damaged messages become placeholders that say so, and the host is notified.
 * The user's latest message must be readable, or there is nothing to answer. Throws ActivityFailed.
 */
export const readHistory = async (host: Host, blocks: BlockStore, refs: RefHistory): Promise<Readable> => {
  const whole = await hydrate(blocks, refs)()
  if (!isLeft(whole)) return { view: whole.right.view(), lost: 0 }
  const read = rightOrFail(await hydratePartial(blocks, refs)())
  const view = read.view()
  const lost = new Set(read.missing.map(({ position }) => position))
  if (lost.size === 0) return { view, lost: 0 } // found in the meantime
  let question = view.length - 1
  while (question >= 0 && itemAt(view, question).role !== 'user') question -= 1
  if (lost.has(question)) throw new ActivityFailed(whole.left)
  host.failed(whole.left)
  return { view: withPlaceholders(view, lost), lost: lost.size }
}

const lostContentText = '[The content of this message was lost and can no longer be read.]'

/** Replaces lost messages by placeholders that a model accepts: a lost result still answers its call. */
const withPlaceholders = (view: View<Message>, lost: ReadonlySet<number>): View<Message> => {
  const history = createHistory<Message>()
  const answers = new Map<number, readonly string[]>()
  for (let position = 0; position < view.length; position++) {
    const message = itemAt(view, position)
    if (message.role === 'assistant') for (const answer of lostAnswers(view, position, lost)) answers.set(...answer)
    const page = view.pages.at(position)
    history.append(lost.has(position) ? placeholder(message, answers.get(position) ?? []) : message, page)
  }
  return history.view()
}

const placeholder = ({ role }: Message, callIds: readonly string[]): Message => {
  const content = [text(lostContentText)]
  if (callIds.length > 0)
    return { role: 'tool', content: callIds.map((callId) => ({ type: 'tool_result', callId, content })) }
  return { role: role === 'tool' ? 'assistant' : role, content }
}

/** The unanswered calls of an answer, by the lost messages after it; the last of those gets all that remain. */
const lostAnswers = (
  view: View<Message>,
  answer: number,
  lost: ReadonlySet<number>,
): readonly (readonly [position: number, callIds: readonly string[]])[] => {
  let open = toolCallsOf(itemAt(view, answer)).map(({ id }) => id)
  const places: number[] = []
  for (let position = answer + 1; position < view.length; position++) {
    const { role, content } = itemAt(view, position)
    if (role !== 'tool') break
    if (lost.has(position)) places.push(position)
    const results = new Set(content.flatMap((part) => (part.type === 'tool_result' ? [part.callId] : [])))
    open = open.filter((id) => !results.has(id))
  }
  return places.map((place, index) => [
    place,
    index === places.length - 1 ? open.slice(index) : open.slice(index, index + 1),
  ])
}
