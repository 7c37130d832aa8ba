/** Marks: what a message is to an application, said beside its content and never guessed from its text. */
import { ownFields } from '../../json/index.ts'
import type { Message } from '../../message/index.ts'
import { oursIn } from '../../message/kit.ts'

/**
 * The mark of a message. An application marks the messages that it appends in `meta`, under `indelible`:
 * `{ indelible: { mark: 'feedback' } }`, `{ indelible: { mark: 'report', of: 'proposal-1' } }`. Pages of the kind
 * `constraint` or `preference`, also by a note, count as marked and are kept like feedback.
 */
export type Mark =
  /** What a person says of the work. Every piece is kept. */
  | { readonly mark: 'feedback' }
  /** Of each of these the latest is kept, with what follows up to the next marked message. */
  | { readonly mark: 'test_result' | 'self_review' | 'summary' }
  /** Kept with the proposal of the same id: the nearest before it. */
  | { readonly mark: 'report'; readonly of: string }
  /** Kept if it is the nearest one before a report of its id. */
  | { readonly mark: 'proposal'; readonly id: string }

/**
 * The same message with a mark. The rest of its `meta` stays.
 *
 * @example
 * history.append(marked(user('Keep the public names.'), { mark: 'feedback' }))
 */
export const markMessage = (message: Message, mark: Mark): Message => ({
  ...message,
  meta: { ...message.meta, indelible: { ...oursIn(message), ...mark } },
})

/**
 * Gives the mark of a message.
 *
 * @returns the mark; undefined if it has none
 */
export type MarkOf = (message: Message) => Mark | undefined

/** The mark under `indelible` in a message's `meta`; undefined if there is no valid one. */
export const markInMeta: MarkOf = (message) => {
  const { mark: kind, of, id } = ownFields(oursIn(message))
  if (kind === 'feedback' || kind === 'test_result' || kind === 'self_review' || kind === 'summary')
    return { mark: kind }
  if (kind === 'report' && typeof of === 'string') return { mark: kind, of }
  return kind === 'proposal' && typeof id === 'string' ? { mark: kind, id } : undefined
}

/** The mark of a message that repeats part of another. */
export const markedAs = ({ meta }: Message): Pick<Message, 'meta'> => {
  const mark = meta?.['indelible']
  return mark === undefined ? {} : { meta: Object.freeze({ indelible: mark }) }
}
