/** Redacts messages and notes: content from people, models and tools, but never ids or signatures. */
import { ownField, ownFields, isObject, type JsonObject, present } from '../json/index.ts'
import type { Message, Part, ResultPart, Source } from '../message/index.ts'
import { contentOf, indelibleMetaOf, messageIn } from '../message/internal.ts'
import type { Note } from '../notes/internal.ts'
import type { Redacted } from './mark.ts'
import { checkedOptions, textRedactor, type InnerRedactor, type RedactOptions, type TextRedactor } from './redactor.ts'

/** Removes secrets from data before it is recorded, and counts them. */
export interface Redactor extends TextRedactor {
  /**
   * A message without secrets in its texts, reasoning, call arguments, results, file names, URLs and `meta`. Ids,
   * names of tools and speakers, signatures and binary file data are kept. Changed reasoning loses its signature,
   * which would no longer be valid. `meta.indelible.redacted` counts the removed secrets by rule.
   *
   * @returns a message with marks; the message itself if it has no secrets
   */
  readonly message: (message: Message) => Message
  /**
   * A note without secrets.
   *
   * @returns a note with marks; the note itself if it has no secrets
   */
  readonly note: <N extends Note>(note: N) => N
  /** The same redactor without counting, for data that is recorded again in its final form, or only compared. */
  readonly quiet: Redactor
}

/** A redactor, its options, or true for all formats of `secretRules`. */
export type Redact = true | RedactOptions | Redactor

/**
 * Makes a redactor. One that is shared by several sessions counts for all of them.
 *
 * @param option options; true for the defaults. A redactor is returned as is
 * @throws TypeError if `given` is something else, has an unknown option, or has a rule without a name or a pattern
 * @example
 * const redactor = createRedactor({ rules: [{ name: 'customer', pattern: /\bC-\d{8}\b/ }] })
 * redactor.text('Call C-12345678 back.') // 'Call [redacted customer, 10 characters] back.'
 */
export const createRedactor = (option: Redact = true): Redactor => {
  if (isRedactor(option)) return option
  const options = checkedOptions(option)
  const { onRedacted: _, ...silent } = options
  return redactorWith(textRedactor(options), redactorWith(textRedactor(ownFields(silent))))
}

const methods = ['text', 'textFrom', 'json', 'ready', 'counts', 'message', 'note', 'quiet'] as const

const isRedactor = (value: unknown): value is Redactor =>
  isObject(value) && methods.every((name) => Object.hasOwn(value, name))

const redactorWith = (inner: InnerRedactor, quiet?: Redactor): Redactor => {
  const { text, textFrom, json, ready, counts } = inner
  const part = partRedactor(inner)
  const message = (input: Message): Message => {
    const { result, found } = inner.finding(() => messageWith(input, part, inner))
    return result === input ? input : markMessage(result, found)
  }
  const redactor: Redactor = {
    text,
    textFrom,
    json,
    ready,
    counts,
    message,
    note: (note) => noteWith(note, inner, part, message),
    get quiet() {
      return quiet ?? redactor
    },
  }
  return Object.freeze(redactor)
}

type RedactPart = <P extends Part>(part: P) => P

const messageWith = (message: Message, part: RedactPart, inner: InnerRedactor): Message => {
  const content = contentOf('a redactor', message).map(part)
  const stored = ownField(message, 'meta')
  const meta = stored === undefined ? undefined : inner.beside(stored)
  if (meta === stored && content.every((item, index) => item === message.content[index])) return message
  return { ...message, content, ...present({ meta }) }
}

const markMessage = (message: Message, found: readonly Redacted[]): Message => {
  const redacted: { [rule: string]: number } = {}
  const ours = indelibleMetaOf(message)
  const before = ours['redacted']
  if (isObject(before))
    for (const [rule, count] of Object.entries(before)) if (typeof count === 'number') redacted[rule] = count
  for (const { rule } of found) redacted[rule] = (redacted[rule] ?? 0) + 1
  return { ...message, meta: { ...ownField(message, 'meta'), indelible: { ...ours, redacted } } }
}

const partRedactor = (inner: InnerRedactor): RedactPart => {
  const { text } = inner
  const redact = (part: Part | ResultPart): Part | ResultPart => {
    const stored = ownField(part, 'meta')
    const meta = stored === undefined ? {} : { meta: inner.beside(stored) }
    switch (part.type) {
      case 'text':
      case 'refusal':
        return { ...part, text: text(part.text), ...meta }
      case 'reasoning': {
        const before = ownField(part, 'summary')
        const summary = before?.map(text)
        const cleanNote = { ...part, text: text(part.text), ...(summary && { summary }), ...meta }
        const isKept =
          cleanNote.text === part.text && summary?.every((line, index) => line === before?.[index]) !== false
        if (isKept) return cleanNote
        const { signature: _, ...unsigned } = cleanNote
        return unsigned
      }
      case 'tool_call':
        return { ...part, arguments: text(part.arguments), ...meta }
      case 'tool_result':
        return { ...part, content: part.content.map((item) => unlessEqual(item, redact(item) as ResultPart)), ...meta }
      case 'image':
        return { ...part, source: sourceWith(part.source, inner), ...meta }
      case 'file': {
        const name = ownField(part, 'name')
        return {
          ...part,
          source: sourceWith(part.source, inner),
          ...(name !== undefined && { name: text(name) }),
          ...meta,
        }
      }
      case 'provider':
        return { ...part, raw: inner.beside(part.raw), ...meta }
      case 'erased':
        return part
    }
  }
  return <P extends Part>(part: P): P => unlessEqual(part, redact(part) as P)
}

/** The original value if the clean one is equal. */
const unlessEqual = <T>(value: T, cleanNote: T): T =>
  JSON.stringify(value) === JSON.stringify(cleanNote) ? value : cleanNote

const sourceWith = (source: Source, { text, base64 }: InnerRedactor): Source => {
  const stored = ownField(source, 'mediaType')
  const mediaType = stored === undefined ? {} : { mediaType: text(stored) } // it may have a file's name
  if (source.type === 'base64') return { ...source, data: base64(source.data), ...mediaType }
  return source.type === 'url' ? { ...source, url: text(source.url), ...mediaType } : { ...source, ...mediaType }
}

const noteWith = <N extends Note>(
  input: N,
  inner: InnerRedactor,
  part: RedactPart,
  message: Redactor['message'],
): N => {
  const note: Note = input
  // A note's parts and messages can be any objects. One that is no part or message is redacted as JSON.
  const cleanPart = (value: JsonObject): JsonObject => {
    const [whole] = messageIn({ role: 'assistant', content: [value] })?.content ?? []
    return whole === undefined ? inner.json(value) : (part(whole) as unknown as JsonObject)
  }
  const cleanContent = (value: JsonObject): JsonObject => {
    const content = Array.isArray(value['content'])
    const whole = messageIn({ role: 'assistant', content: [], ...value })
    if (whole === undefined) return inner.json(value)
    const cleanNote = message(whole)
    const { content: _, ...rest } = cleanNote
    return (content ? cleanNote : rest) as unknown as JsonObject
  }
  const cleanNote = (): Note => {
    switch (note.type) {
      case 'summary':
        return {
          ...note,
          text: inner.text(note.text),
          ...(note.model !== undefined && { model: inner.text(note.model) }),
        }
      case 'kept_file':
        return { ...note, file: inner.text(note.file) }
      case 'tool_started':
        return note.arguments === undefined ? note : { ...note, arguments: inner.text(note.arguments) }
      case 'receipt': // instructions are redacted before they become a block
        return {
          ...note,
          model: inner.text(note.model),
          ...(note.parameters !== undefined && { parameters: inner.beside(note.parameters) }),
          ...(note.details !== undefined && { details: inner.beside(note.details) }),
        }
      case 'journal':
        return {
          ...note,
          ...(note.said !== undefined && {
            said: note.said.map((block) => ({
              ...block,
              ...(block.text !== undefined && { text: inner.text(block.text) }),
              ...(block.part !== undefined && { part: cleanPart(block.part) }),
            })),
          }),
          ...(note.answer !== undefined && { answer: cleanContent(note.answer) }),
          ...(note.results !== undefined && { results: note.results.map(cleanPart) }),
        }
      case 'input':
        return {
          ...note,
          ...(note.message !== undefined && { message: cleanContent(note.message) }),
          ...(note.reason !== undefined && { reason: inner.text(note.reason) }),
        }
      case 'application':
        return { ...note, namespace: inner.text(note.namespace), content: inner.json(note.content) }
      case 'metadata':
        return {
          ...note,
          ...(note.value !== undefined && { value: inner.json(note.value) }),
          ...(note.patches !== undefined && { patches: inner.json(note.patches) }),
          ...(note.before !== undefined && { before: inner.json(note.before) }),
        }
      case 'page':
      case 'erased':
      case 'pin':
      case 'unpin':
      case 'retraction':
      case 'seal':
        return note
    }
  }
  return unlessEqual(input, cleanNote() as N)
}
