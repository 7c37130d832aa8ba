/** Lists of items, as OpenAI Responses and the Agents SDK have them: how both are read. */
import { anObject, isObject, readEach, readIn, Unexpected, type Json, type JsonObject } from '../json/index.ts'
import type { Message, Meta, Part, ProviderPart, Role, TextPart } from '../message/index.ts'
import { keep, type Fresh } from './residual.ts'

/**
 * The messages so far, and what the assistant is just saying: its items in a row become one message.
 *
 * @typeParam Call what is known of a call when its result comes
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

/** Who speaks, but for the assistant. */
export const speakers: ReadonlyMap<unknown, Role> = new Map([
  ['system', 'system'],
  ['developer', 'developer'],
  ['user', 'user'],
])

/** What a message says: a text, or parts. Throws Unexpected. */
export const contentOf = (wire: JsonObject): string | readonly Json[] =>
  readIn(wire, 'content', (content) => {
    if (typeof content !== 'string' && !Array.isArray(content))
      throw new Unexpected([], 'a string or an array of parts', content)
    return content as string | readonly Json[]
  })

/** The texts of a list of parts. */
export const textsIn = (list: Json | undefined): string[] =>
  Array.isArray(list)
    ? (list as readonly Json[]).flatMap((each) =>
        isObject(each) && typeof each['text'] === 'string' ? [each['text']] : [],
      )
    : []

/** Whether a part is text. */
export const isText = (wire: JsonObject): wire is JsonObject & { readonly text: string } =>
  (wire['type'] === 'input_text' || wire['type'] === 'output_text' || wire['type'] === 'text') &&
  typeof wire['text'] === 'string'

/** What is kept with a message or a part. */
export type KeptMeta = { readonly meta?: Meta }

export const text = (value: string, kept: KeptMeta = {}): TextPart => freeze({ type: 'text', text: value, ...kept })

export const messageOf = (role: Role, content: readonly Part[], kept: KeptMeta = {}): Message =>
  freeze({ role, content: freeze(content), ...kept })

/** What differs between the formats. */
export interface ItemFormat {
  /** The name under which things are kept. */
  readonly format: string
  /** How the assistant's messages are written. */
  readonly messageItem: (role: string, content: unknown) => Fresh
  readonly outputText: (text: string) => Fresh
  readonly refusalText: (text: string) => Fresh
  /** As what it is kept where the content is a string. */
  readonly ofString: string | undefined
  /** As what it is kept where the content is one text or refusal. */
  readonly ofOne: string | undefined
}

/** How things of a format are kept. */
export interface FormatReading {
  /** What the wire has beyond what would be written: that is plain JSON too. */
  readonly difference: (wire: JsonObject, written: object, as?: string, skip?: readonly string[]) => KeptMeta
  readonly raw: (wire: Json) => ProviderPart
  /**
   * What a message of the assistant says. The first part holds what the item has beside its content, under `item`, and all
   * of them what they have beside their text, under `part`.
   */
  readonly readSaid: (wire: JsonObject, said: string | readonly Json[]) => readonly Part[]
}

export const readingOf = (of: ItemFormat): FormatReading => {
  const { format } = of
  const difference: FormatReading['difference'] = (wire, written, as, skip) =>
    keep(format, wire, written as JsonObject, as, skip)
  const raw: FormatReading['raw'] = (wire) => freeze({ type: 'provider', provider: format, raw: wire })
  const readSaid: FormatReading['readSaid'] = (wire, said) => {
    const item = of.messageItem('assistant', said) // the content is the same, so it is no difference
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
