/** Items of a channel as JSON text: a LangChain message is stored as a message, anything else in a note. */
import { isLeft, isObject, jsonEqual, parseJson, type Json, type JsonObject } from 'indelible/internal/json'
import { langchainMessages as codec } from '@indelible/codecs/langchain'
import type { Message } from 'indelible/message'
import { RecentMap } from 'indelible/internal/sequence'
import type { SessionReader } from 'indelible/session'

/** Where an item is stored: its text, or the position of its message, with an id assigned later. */
export type ItemRef = string | { readonly m: number; readonly id?: string }

/** An item. Its text is computed from its message on first use. */
export interface Item {
  readonly ref: ItemRef
  text: string | undefined
}

export const textOf = (item: Item, session: SessionReader): string => {
  if (item.text !== undefined) return item.text
  const { ref } = item
  if (typeof ref === 'string') return (item.text = ref)
  return (item.text = JSON.stringify(withId(valueOf(session.view().at(ref.m) as Message), ref.id)))
}

/** The JSON of items. The values of messages are shared: they must not be changed. */
export const jsonOf = (items: readonly Item[], session: SessionReader, values: MessageValues): readonly Json[] => {
  const view = session.view()
  const read = values.of(items.flatMap(({ ref }) => (typeof ref === 'string' ? [] : [view.at(ref.m) as Message])))
  let next = 0
  return items.map(({ ref }) =>
    typeof ref === 'string' ? (JSON.parse(ref) as Json) : withId(read[next++] as JsonObject, ref.id),
  )
}

/** The LangChain messages of recorded messages, which never change: the most recently read. */
export class MessageValues {
  readonly #values: RecentMap<Message, JsonObject>

  /** @param most the maximum number of messages */
  constructor(most = 10_000) {
    this.#values = new RecentMap(most)
  }

  get size(): number {
    return this.#values.size
  }

  /** The values of messages, in their order. Those that were not read lately are encoded together. */
  of(messages: readonly Message[]): readonly JsonObject[] {
    const known = messages.map((message) => this.#values.get(message))
    const missing = messages.filter((_, index) => known[index] === undefined)
    const encoded = missing.length === 0 ? [] : valuesOf(missing)
    for (const [index, value] of encoded.entries()) this.#values.set(missing[index] as Message, value)
    let next = 0
    return known.map((value) => value ?? (encoded[next++] as JsonObject))
  }
}

/** The LangChain messages for messages of the record, one for each. */
const valuesOf = (messages: readonly Message[]): readonly JsonObject[] => {
  const written = codec.encode(messages, { allow: 'unsettled' })
  const wire = isLeft(written) ? [] : (written.right.wire as readonly unknown[] as readonly JsonObject[])
  // A message of several results is written as several, of which the first counts.
  return wire.length === messages.length ? wire : messages.map((message) => valueOf(message))
}

/** The LangChain message for a message of the record. */
const valueOf = (message: Message): JsonObject => {
  const written = codec.encode([message], { allow: 'unsettled' })
  return (isLeft(written) ? {} : written.right.wire[0]) as unknown as JsonObject
}

const withId = (value: JsonObject, id: string | undefined): JsonObject =>
  id === undefined ? value : { ...value, kwargs: { ...(value['kwargs'] as JsonObject), id } }

/** The stored message for an item; undefined if the item is not a message, or would come back changed. */
export const messageOf = (text: string): Message | undefined => {
  if (!text.startsWith('{"lc":1')) return undefined
  const parsed = parseJson(text)
  if (isLeft(parsed)) return undefined
  const read = codec.decode([parsed.right])
  if (isLeft(read)) return undefined
  const [message] = read.right.messages
  return message !== undefined && jsonEqual(valueOf(message), parsed.right) ? message : undefined
}

/** A reference to an item's message: unchanged, or with an id that only the item has. Undefined if it differs. */
export const refTo = (text: string, message: Message, position: number): ItemRef | undefined => {
  const parsed = parseJson(text)
  if (isLeft(parsed) || !isObject(parsed.right as Json)) return undefined
  const wanted = parsed.right as JsonObject
  const there = valueOf(message)
  if (jsonEqual(there, wanted)) return { m: position }
  const { kwargs } = wanted
  const id = isObject(kwargs) ? kwargs['id'] : undefined
  if (message.id !== undefined || typeof id !== 'string') return undefined
  return jsonEqual(withId(there, id), wanted) ? { m: position, id } : undefined
}
