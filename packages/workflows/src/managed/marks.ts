/** Marks: a message's role in an application, set in its `meta` and never guessed from its text. */
import { describe, ownFields } from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import { indelibleMetaOf } from 'indelible/internal/message'

/**
 * The mark of a message. An application marks the messages that it appends in `meta`, under `indelible`: `{
 * indelible: { mark: 'feedback' } }`, `{ indelible: { mark: 'report', of: 'proposal-1' } }`. Pages of kind
 * `constraint` or `preference`, also when set by a note, count as marked and are kept like feedback.
 */
export type MessageMark =
  /** A person's comment on the work. All feedback is kept. */
  | { readonly mark: 'feedback' }
  /** The latest of each is kept, with the messages up to the next marked one. */
  | { readonly mark: 'test_result' | 'self_review' | 'summary' }
  /** Kept with the nearest earlier proposal with this id. */
  | { readonly mark: 'report'; readonly of: string }
  /** Kept if it is the nearest proposal before a report with its id. */
  | { readonly mark: 'proposal'; readonly id: string }

/**
 * Adds a mark to a copy of a message. The rest of its `meta` stays.
 *
 * @example
 * history.append(markMessage(user('Keep the public names.'), { mark: 'feedback' }))
 */
export const markMessage = (message: Message, mark: MessageMark): Message => {
  if (typeof mark !== 'object' || mark === null)
    throw new TypeError(`markMessage expects a mark, such as { mark: 'feedback' }, found ${describe(mark)}`)
  return { ...message, meta: { ...message.meta, indelible: { ...indelibleMetaOf(message), ...mark } } }
}

/**
 * Returns the mark of a message.
 *
 * @returns the mark; undefined if it has none
 */
export type MarkOf = (message: Message) => MessageMark | undefined

/** The mark under `indelible` in a message's `meta`; undefined if there is no valid one. */
export const markInMeta: MarkOf = (message) => {
  const { mark: kind, of, id } = ownFields(indelibleMetaOf(message))
  if (kind === 'feedback' || kind === 'test_result' || kind === 'self_review' || kind === 'summary')
    return { mark: kind }
  if (kind === 'report' && typeof of === 'string') return { mark: kind, of }
  return kind === 'proposal' && typeof id === 'string' ? { mark: kind, id } : undefined
}
