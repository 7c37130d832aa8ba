/** Placeholders: what `hydratePartial` gives for messages whose content was not found. To look at, and never stored. */
import { describe, isObject, own, type Immutable } from '../json/index.ts'
import type { BlockId } from '../proof/index.ts'
import { text, type Message, type MessageFault } from '../message/index.ts'

/** The placeholder of a message whose blocks were not found. */
export const placeholderOf = (
  { role }: Pick<Message, 'role'>,
  { ids, reason }: { readonly ids: readonly BlockId[]; readonly reason: string },
): Message => ({
  role,
  content: [text(`[the content of this message is not there: ${reason}]`)],
  meta: { indelible: { missing: ids } },
})

/** Whether a message is a placeholder, and so none that was said. */
export const isPlaceholder = (message: Message | Immutable<Message>): boolean => missingOf(message) !== undefined

/** Why a message can't be stored; `undefined` if it can. */
export const againstStoring = (message: Message): MessageFault | undefined => {
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
  const meta = own(message, 'meta')
  const ours = meta === undefined ? undefined : own(meta, 'indelible')
  return isObject(ours) ? own(ours, 'missing') : undefined
}
