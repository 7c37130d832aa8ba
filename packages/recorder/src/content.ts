/** The recorded form of a message: complete, redacted, or only its length. */
import { ownFields, type Json, type JsonObject } from 'indelible/json/kit'
import type { Message, Part, ResultPart } from 'indelible/message'
import { createRedactor, type Redact as Redaction } from 'indelible/redact'
import { identityOf } from './identity.ts'

/** Changes a message before it is recorded, for example to remove secrets. */
export type Redact = (message: Message) => Message

/** What content of messages is recorded. */
export interface ContentOptions {
  /**
   * Removes secrets from everything before it is recorded: rules, or a redactor of `indelible/redact`.
   * A function changes each message, and receives nothing else. Default: nothing is changed.
   */
  readonly redact?: Redact | Redaction
  /** If false, only lengths, digests and counts are recorded. Default: true. */
  readonly content?: boolean
}

/** The recorded form of requests and answers. */
export interface Forms {
  /** A message of a request. It may have been recorded before. */
  readonly asked: (message: Message) => Message
  /** Count the removed secrets of a request message that is recorded now. */
  readonly count: (message: Message) => void
  /** A message of an answer. */
  readonly answered: (message: Message) => Message
  /** Other data: system prompts, tools, parameters, errors. */
  readonly beside: <T extends Json>(value: T) => T
}

/** The forms for these options. Throws TypeError if a redaction rule is invalid. */
export const formsOf = (kept: ContentOptions): Forms => {
  const { redact, content = true } = ownFields(kept)
  if (redact === undefined || typeof redact === 'function') {
    const form = (message: Message): Message => recordedForm(message, redact, content)
    return { asked: form, count: () => {}, answered: form, beside: (value) => value }
  }
  const redactor = createRedactor(redact)
  return {
    asked: (message) => recordedForm(message, redactor.quiet.message, content),
    count: (message) => void redactor.message(message),
    answered: (message) => recordedForm(message, redactor.message, content),
    beside: (value) => redactor.quiet.json(value),
  }
}

/** The recorded form of a message. A changed message keeps the digest of its original, so that it can be found. */
const recordedForm = (message: Message, redact: Redact | undefined, content: boolean): Message => {
  const redacted = redact === undefined ? message : redact(message)
  const form = content ? redacted : { ...redacted, content: redacted.content.map(figure) }
  if (form === message) return message
  const digest = identityOf(message)
  if (identityOf(form) === digest) return form
  const ours = form.meta?.['indelible'] as JsonObject | undefined
  return { ...form, meta: { ...form.meta, indelible: { ...ours, digest } } }
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
