/** What of a message is recorded: all of it, what a rule leaves, or how long it is. */
import type { Message, Part, ResultPart } from '../message/index.ts'
import { identityOf } from './identity.ts'

/** Changes a message before it is recorded, such as to take out secrets. */
export type Redact = (message: Message) => Message

/** A message as it is recorded. One that lost something keeps the digest of what it said, so that it is found again. */
export const recordedForm = (message: Message, redact: Redact | undefined, content: boolean): Message => {
  const redacted = redact === undefined ? message : redact(message)
  const form = content ? redacted : { ...redacted, content: redacted.content.map(figure) }
  if (form === message) return message
  const digest = identityOf(message)
  return identityOf(form) === digest ? form : { ...form, meta: { ...form.meta, indelible: { digest } } }
}

const figure = (part: Part): Part => {
  switch (part.type) {
    case 'tool_call':
      return { type: 'tool_call', id: part.id, name: part.name, arguments: '' }
    case 'tool_result':
      return { type: 'tool_result', callId: part.callId, content: [lengthOf(part.content)] }
    default:
      return lengthOf([part])
  }
}

const lengthOf = (parts: readonly (Part | ResultPart)[]): ResultPart => ({
  type: 'text',
  text: `[${parts.map((part) => `${part.type}: ${JSON.stringify(part).length} bytes`).join(', ')}]`,
})
