/** Lists of items, as OpenAI Responses and the Agents SDK have them: how both are read. */
import { isObject, readIn, Unexpected, type Json, type JsonObject } from '../json/index.ts'
import type { Message, Meta, Part, ProviderPart, Role, TextPart } from '../message/index.ts'
import { keep } from './residual.ts'

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

/** A text. */
export const text = (value: string, kept: KeptMeta = {}): TextPart => freeze({ type: 'text', text: value, ...kept })

/** A message. */
export const messageOf = (role: Role, content: readonly Part[], kept: KeptMeta = {}): Message =>
  freeze({ role, content: freeze(content), ...kept })

/** What differs between the formats: the name under which things are kept. */
export interface FormatReading {
  /** What the wire has beyond what would be written: that is plain JSON too. */
  readonly difference: (wire: JsonObject, written: object, as?: string, skip?: readonly string[]) => KeptMeta
  readonly raw: (wire: Json) => ProviderPart
}

/** How things of a format are kept. */
export const readingOf = (format: string): FormatReading => ({
  difference: (wire, written, as, skip) => keep(format, wire, written as JsonObject, as, skip),
  raw: (wire) => freeze({ type: 'provider', provider: format, raw: wire }),
})

const { freeze } = Object
