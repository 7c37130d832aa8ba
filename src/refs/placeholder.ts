/** Placeholders: what `hydratePartial` gives for messages whose content was not found. To look at, and never stored. */
import { describe, type Immutable } from '../json/index.ts'
import { text, type Message, type MessageFault } from '../message/index.ts'
import type { MissingMessage } from './content.ts'
import type { MessageRef } from './ref.ts'

export const placeholderOf = ({ role }: MessageRef, { ids, reason }: Omit<MissingMessage, 'position'>): Message => ({
  role,
  content: [text(`[the content of this message is not there: ${reason}]`)],
  meta: { indelible: { missing: [...ids] } },
})

/** Whether a message is a placeholder, and so none that was said. */
export const isPlaceholder = (message: Message | Immutable<Message>): boolean => missingOf(message) !== undefined

/** Why a message can't be stored; `undefined` if it can. */
export const againstStoring = (message: Message): MessageFault | undefined => {
  const missing = missingOf(message)
  if (missing === undefined) return undefined
  return { _tag: 'UnexpectedShape', path: ['meta', 'indelible', 'missing'], expected: 'absent, for a placeholder of content that was not found is never stored', found: describe(missing) }
}

const missingOf = ({ meta }: Message | Immutable<Message>): unknown => {
  const ours = meta?.['indelible']
  return typeof ours === 'object' && ours !== null && 'missing' in ours ? ours['missing'] : undefined
}
