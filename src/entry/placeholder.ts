/** Placeholders for messages whose content `hydratePartial` did not find. They are for display, and never stored. */
import { describe, isObject, ownField, type Immutable } from '../json/index.ts'
import type { BlockId } from '../proof/internal.ts'
import { text, type Message, type MessageFault } from '../message/index.ts'

/**
 * The placeholder of a message whose blocks were not found.
 *
 * @param message the role of the message
 * @param missing the ids of the blocks, and the reason
 */
export const placeholderOf = (
  { role }: Pick<Message, 'role'>,
  { ids, reason }: { readonly ids: readonly BlockId[]; readonly reason: string },
): Message => ({
  role,
  content: [text(`[the content of this message is not there: ${reason}]`)],
  meta: { indelible: { missing: ids } },
})

/**
 * Whether a message is a placeholder for content that was not found.
 *
 * @returns true for a placeholder
 */
export const isPlaceholder = (message: Message | Immutable<Message>): boolean => missingOf(message) !== undefined

/**
 * The reason why a message can't be stored.
 *
 * @returns the fault; undefined if the message can be stored
 */
export const placeholderFault = (message: Message): MessageFault | undefined => {
  const missing = missingOf(message)
  if (missing === undefined) return undefined
  return {
    _tag: 'UnexpectedShape',
    path: ['meta', 'indelible', 'missing'],
    expected: 'absent, for a placeholder of content that was not found is never stored',
    found: describe(missing),
  }
}

const missingOf = (message: Message | Immutable<Message>): unknown => {
  const meta = ownField(message, 'meta')
  const ours = meta === undefined ? undefined : ownField(meta, 'indelible')
  return isObject(ours) ? ownField(ours, 'missing') : undefined
}
