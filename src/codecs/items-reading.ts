/** Reads lists of items, for OpenAI Responses and the Agents SDK. */
import { anObject, isObject, readEach, readIn, Unexpected, type Json, type JsonObject } from '../json/index.ts'
import type { Message, Meta, Part, ProviderPart, Role, TextPart } from '../message/index.ts'
import { keepResidual, type MutableObject } from './residual.ts'

/**
 * The messages so far, and the pending parts of the assistant: its consecutive items become one message.
 *
 * @typeParam Call the data needed about a call when its result arrives
 */
export class ItemReading<Call> {
  readonly #messages: Message[] = []
  #said: Part[] = []
  /** The calls by id. */
  readonly calls: Map<string, Call> = new Map()

  say(part: Part): void {
    this.#said.push(part)
  }

  add(message: Message): void {
    this.end()
    this.#messages.push(message)
  }

  end(): readonly Message[] {
    if (this.#said.length > 0) this.#messages.push(messageOf('assistant', this.#said))
    this.#said = []
    return this.#messages
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

/** The texts in a list of parts. */
export const textsIn = (list: Json | undefined): string[] =>
  Array.isArray(list)
    ? (list as readonly Json[]).flatMap((each) =>
        isObject(each) && typeof each['text'] === 'string' ? [each['text']] : [],
      )
    : []

export const isText = (wire: JsonObject): wire is JsonObject & { readonly text: string } =>
  (wire['type'] === 'input_text' || wire['type'] === 'output_text' || wire['type'] === 'text') &&
  typeof wire['text'] === 'string'

/** The `meta` kept with a message or part. */
export type KeptMeta = { readonly meta?: Meta }

export const text = (value: string, kept: KeptMeta = {}): TextPart => freeze({ type: 'text', text: value, ...kept })

export const messageOf = (role: Role, content: readonly Part[], kept: KeptMeta = {}): Message =>
  freeze({ role, content: freeze(content), ...kept })

/** The differences between the formats. */
export interface ItemFormat {
  /** The format's key in `meta`. */
  readonly format: string
  /** Writes an assistant message. */
  readonly messageItem: (role: string, content: unknown) => MutableObject
  readonly outputText: (text: string) => MutableObject
  readonly refusalText: (text: string) => MutableObject
  /** The mark for content that is a string. */
  readonly ofString: string | undefined
  /** The mark for content that is one text or refusal. */
  readonly ofOne: string | undefined
}

/** Reading functions for one format. */
export interface FormatReading {
  /** The difference between the wire and what encoding would write, as `meta`. */
  readonly difference: (wire: JsonObject, written: object, as?: string, skip?: readonly string[]) => KeptMeta
  readonly raw: (wire: Json) => ProviderPart
  /**
   * Reads an assistant message. The first part keeps the item's other fields under `item`; every
   * part keeps its own under `part`.
   */
  readonly readSaid: (wire: JsonObject, said: string | readonly Json[]) => readonly Part[]
}

export const readingOf = (of: ItemFormat): FormatReading => {
  const { format } = of
  const difference: FormatReading['difference'] = (wire, written, as, skip) =>
    keepResidual(format, wire, written as JsonObject, as, skip)
  const raw: FormatReading['raw'] = (wire) => freeze({ type: 'provider', provider: format, raw: wire })
  const readSaid: FormatReading['readSaid'] = (wire, said) => {
    const item = of.messageItem('assistant', said) // the same content, so that it is not a difference
    if (typeof said === 'string') return [text(said, difference({ item: wire }, { item }, of.ofString))]
    if (said.length === 0) return [raw(wire)]
    const mark = said.length === 1 ? of.ofOne : 'message'
    return readIn(wire, 'content', () =>
      readEach(said, (each, index) => {
        const part = anObject(each)
        const kept = (written: object, as: string | undefined): KeptMeta =>
          index === 0
            ? difference({ item: wire, part }, { item, part: written }, as)
            : difference({ part }, { part: written }, 'more')
        if (isText(part)) return text(part.text, kept(of.outputText(part.text), mark))
        const { type, refusal } = part
        if (type === 'refusal' && typeof refusal === 'string')
          return freeze({ type, text: refusal, ...kept(of.refusalText(refusal), mark) } as const)
        return freeze({ ...raw(part), ...kept(part, 'message') })
      }),
    )
  }
  return { difference, raw, readSaid }
}

const { freeze } = Object
