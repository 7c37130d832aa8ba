/** Reads lists of items, for OpenAI Responses and the Agents SDK. */
import { anObject, isObject, readEach, readIn, Unexpected, type Json, type JsonObject } from '../json/index.ts'
import type { Message, Part, Role } from '../message/index.ts'
import { type Keeping, keepingOf, type KeptMeta, messageOf, refusalPart, textPart } from './parts.ts'
import type { MutableObject } from './residual.ts'

/**
 * The messages so far, and the pending parts of the assistant: its consecutive items become one message.
 *
 * @typeParam Call the data needed about a call when its result arrives
 */
export class ItemReading<Call> {
  readonly #messages: Message[]
  #parts: Part[]
  readonly calls: Map<string, Call>

  /** @param before the reading of the items before, if these continue a list */
  constructor(before?: ItemReading<Call>) {
    this.#messages = before === undefined ? [] : [...before.#messages]
    this.#parts = before === undefined ? [] : [...before.#parts]
    this.calls = new Map(before?.calls)
  }

  say(part: Part): void {
    this.#parts.push(part)
  }

  add(message: Message): void {
    this.end()
    this.#messages.push(message)
  }

  end(): readonly Message[] {
    if (this.#parts.length > 0) this.#messages.push(messageOf('assistant', this.#parts))
    this.#parts = []
    return this.#messages
  }

  /** The messages if the list ended here. */
  messages(): readonly Message[] {
    return this.#parts.length === 0 ? this.#messages : [...this.#messages, messageOf('assistant', [...this.#parts])]
  }
}

/** The roles other than assistant. */
export const speakers: ReadonlyMap<unknown, Role> = new Map([
  ['system', 'system'],
  ['developer', 'developer'],
  ['user', 'user'],
])

/** The content of a message: a string or parts. Throws Unexpected. */
export const contentOf = (wire: JsonObject): string | readonly Json[] =>
  readIn(wire, 'content', (content) => {
    if (typeof content !== 'string' && !Array.isArray(content))
      throw new Unexpected([], 'a string or an array of parts', content)
    return content as string | readonly Json[]
  })

export const textsIn = (list: Json | undefined): string[] =>
  Array.isArray(list)
    ? (list as readonly Json[]).flatMap((each) =>
        isObject(each) && typeof each['text'] === 'string' ? [each['text']] : [],
      )
    : []

export const isText = (wire: JsonObject): wire is JsonObject & { readonly text: string } =>
  (wire['type'] === 'input_text' || wire['type'] === 'output_text' || wire['type'] === 'text') &&
  typeof wire['text'] === 'string'

/** Whether only the Agents SDK writes such an item. */
export const isAgentsItem = (item: JsonObject): boolean =>
  typeof item['callId'] === 'string' ||
  item['type'] === 'hosted_tool_call' ||
  ('providerData' in item && typeof item['type'] === 'string') ||
  (item['type'] === 'reasoning' && Array.isArray(item['content']) && !('summary' in item)) ||
  (item['role'] === 'assistant' && Array.isArray(item['content']) && item['content'].some(isAgentsPart))

/** Only the Agents SDK stores provider data with a text; Responses does not. */
const isAgentsPart = (part: unknown): boolean => isObject(part) && 'providerData' in part && 'type' in part

/** The differences between the formats. */
interface ItemFormat {
  /** The format's key in `meta`. */
  readonly format: string
  readonly messageItem: (role: string, content: unknown) => MutableObject
  readonly outputText: (text: string) => MutableObject
  readonly refusalText: (text: string) => MutableObject
  /** The mark for content that is a string. */
  readonly ofString: string | undefined
  /** The mark for content that is one text or refusal. */
  readonly ofOne: string | undefined
}

interface FormatReading extends Keeping {
  /**
   * Reads an assistant message. The first part keeps the item's other fields under `item`; every
   * part keeps its own under `part`.
   */
  readonly readSaid: (wire: JsonObject, content: string | readonly Json[]) => readonly Part[]
}

export const readingOf = (of: ItemFormat): FormatReading => {
  const { keep, mark, raw } = keepingOf(of.format)
  const readSaid: FormatReading['readSaid'] = (wire, content) => {
    const item = of.messageItem('assistant', content) // the same content, so that it is not a difference
    if (typeof content === 'string') return [textPart(content, keep({ item: wire }, { item }, of.ofString))]
    if (content.length === 0) return [raw(wire)]
    const as = content.length === 1 ? of.ofOne : 'message'
    return readIn(wire, 'content', () =>
      readEach(content, (each, index) => {
        const part = anObject(each)
        const kept = (written: object, as?: string): KeptMeta =>
          index === 0
            ? keep({ item: wire, part }, { item, part: written }, as)
            : keep({ part }, { part: written }, 'more')
        if (isText(part)) return textPart(part.text, kept(of.outputText(part.text), as))
        const { type, refusal } = part
        if (type === 'refusal' && typeof refusal === 'string')
          return refusalPart(refusal, kept(of.refusalText(refusal), as))
        return freeze({ ...raw(part), ...kept(part, 'message') })
      }),
    )
  }
  return { keep, mark, raw, readSaid }
}

const { freeze } = Object
