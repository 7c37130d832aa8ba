/** The recorded form of a message: complete, redacted, or only its length. */
import { isObject, ownFields, utf8Of, type Json, type JsonObject } from 'indelible/internal/json'
import type { Message, Part, ResultPart } from 'indelible/message'
import { digestOf } from 'indelible/internal/proof'
import { createRedactor, type Redact } from 'indelible/redact'
import { identityOf } from '../messages/identity.ts'
import { namedTools } from '../messages/named-tools.ts'
import { redactedEvents } from '../answers/redacted-events.ts'
import { linesOfEvents, type StreamEvent, type StreamLines } from '../answers/stream-lines.ts'

/** What content of messages is recorded. */
export interface ContentOptions {
  /**
   * Removes secrets from everything before it is recorded: rules, or a redactor of `indelible/redact`.
   * A function changes each message, and receives nothing else. Default: nothing is changed.
   */
  readonly redact?: ((message: Message) => Message) | Redact
  /** If false, only lengths, digests, counts, and the names of tools are recorded. Default: true. */
  readonly content?: boolean
}

/** The recorded form of requests and answers. */
export interface Forms {
  /** A message of a request. It may have been recorded before. */
  readonly asked: (message: Message) => Message
  /** Count the removed secrets of a request message that is recorded now. */
  readonly count: (message: Message) => void
  readonly answered: (message: Message) => Message
  /** The client's name for its conversation. One with a secret is replaced by its digest, which still tells it apart. */
  readonly client: (name: string) => string
  /** The working folder; undefined if no content is recorded. */
  readonly folder: (path: string) => string | undefined
  /** The name of a model, or of a reason to stop: a mistaken configuration may send a key there. */
  readonly name: (name: string) => string
  readonly system: (system: Json) => Json
  readonly tools: (tools: Json) => Json
  /** Other data: parameters, errors. */
  readonly beside: <T extends Json>(value: T) => T
  /** A body of an answer; undefined if only messages are recorded, or only their lengths. */
  readonly body: (body: Json) => Json | undefined
  /** The events of an answer; undefined where `body` is. */
  readonly events: (events: readonly StreamEvent[]) => StreamLines | undefined
}

/** The forms for these options. Throws TypeError if a redaction rule is invalid. */
export const formsOf = (kept: ContentOptions): Forms => {
  const { redact, content = true } = ownFields(kept)
  const redactor = redact === undefined || typeof redact === 'function' ? undefined : createRedactor(redact)
  const change = typeof redact === 'function' ? redact : undefined
  const request = redactor === undefined ? change : redactor.quiet.message
  const answered = redactor === undefined ? change : redactor.message
  const plain = <T extends Json>(value: T): T => (redactor === undefined ? value : redactor.quiet.json(value))
  return {
    asked: (message) => recordedForm(message, request, content),
    count: (message) => void redactor?.message(message),
    answered: (message) => recordedForm(message, answered, content),
    client: (name) => (plain(name) === name ? name : digestOf(name)),
    folder: (path) => (content ? plain(path.toWellFormed()) : undefined),
    name: plain,
    system: content ? plain : textLength,
    tools: content
      ? plain
      : (tools) => namedTools(plain(tools)).map(({ name, definition }) => ({ name, length: textLength(definition) })),
    beside: content ? plain : textLengths,
    events: (events) =>
      content && change === undefined && events.every(({ data }) => isWellFormed(data))
        ? linesOfEvents(events, (data) => (redactor === undefined ? data : redactedEvents(data, redactor.quiet.text)))
        : undefined,
    body: (body) => (content && change === undefined ? plain(body) : undefined),
  }
}

/**
 * Whether a record can have the data of an event: servers may cut a character into halves, in two events. JSON writes a half as
 * an escape, and everything else as it is.
 */
const isWellFormed = (data: Json): boolean => !/(?<!\\)(?:\\\\)*\\ud[89a-f]/.test(JSON.stringify(data))

/** The recorded form of a message. A changed message keeps the digest of its original, so that it can be found. */
const recordedForm = (
  message: Message,
  redact: ((message: Message) => Message) | undefined,
  content: boolean,
): Message => {
  const redacted = redact === undefined ? message : redact(message)
  const form = content ? redacted : figures(redacted)
  if (form === message) return message
  const digest = identityOf(message)
  if (identityOf(form) === digest) return form
  const ours = form.meta?.['indelible'] as JsonObject | undefined
  return { ...form, meta: { ...form.meta, indelible: { ...ours, digest } } }
}

/** A message without its texts, its author's name, and the provider's own fields, which may have texts. */
const figures = ({ role, content, meta }: Message): Message => {
  const ours = meta?.['indelible']
  return { role, content: content.map(figure), ...(ours !== undefined && { meta: { indelible: ours } }) }
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
  text: `[${parts.map((part) => `${part.type}: ${bytesOf(part)} bytes`).join(', ')}]`,
})

const textLength = (value: unknown): string => `[text: ${bytesOf(value)} bytes]`

/** The bytes of a value as JSON. */
const bytesOf = (value: unknown): number => utf8Of(JSON.stringify(value)).length

/** A value with lengths in place of its texts. */
const textLengths = <T extends Json>(value: T): T =>
  (typeof value === 'string'
    ? textLength(value)
    : Array.isArray(value)
      ? value.map((item: Json) => textLengths(item))
      : isObject(value)
        ? Object.fromEntries(Object.entries(value).map(([name, item]) => [name, textLengths(item as Json)]))
        : value) as T
