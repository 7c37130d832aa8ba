/** Converts items of the Agents SDK to messages of a record, and back. The items that come back are deeply equal. */
import type { AgentInputItem } from '@openai/agents-core'
import {
  isObject,
  jsonEqual,
  isLeft,
  type Json,
  type JsonObject,
  revivePlain,
  plainOf,
  type Tag,
} from 'indelible/internal/json'
import { openaiAgents as codec } from '@indelible/codecs/openai-agents'
import { assistant, provider, type Message } from 'indelible/message'
import type { Sequence } from 'indelible/internal/sequence'

/** The field of a stored item that describes values which JSON can't express. */
const tagField = 'indelible.tags'

/** The messages that store these items. Throws TypeError for an item that can't be stored. */
export const messagesOf = (items: readonly AgentInputItem[]): readonly Message[] => {
  const plain = items.map(tagItem)
  return decodeItems(plain) ?? plain.flatMap((item) => decodeItems([item]) ?? [rawItemMessage(item)])
}

const tagItem = (item: AgentInputItem): Json => {
  const { value, tags } = plainOf(item)
  if (!isObject(value)) throw new TypeError('each item of a session must be an object; nothing was stored')
  return tags.length === 0 ? value : { ...value, [tagField]: tags as unknown as Json }
}

/** The messages, if they convert back to exactly these items. */
const decodeItems = (items: readonly Json[]): readonly Message[] | undefined => {
  const read = codec.decode(items)
  if (isLeft(read)) return undefined
  const back = encodeItems(read.right.messages)
  return back !== undefined && jsonEqual(back as readonly Json[], items) ? read.right.messages : undefined
}

const encodeItems = (messages: Sequence<Message>): readonly unknown[] | undefined => {
  const written = codec.encode(messages, { allow: 'unsettled' })
  return isLeft(written) ? undefined : written.right.wire
}

/** Stores an item raw if the codec can't read it or convert it back. */
const rawItemMessage = (item: Json): Message => assistant(provider(codec.format, item))

export const itemsOf = (messages: Sequence<Message>): AgentInputItem[] => {
  const wire = encodeItems(messages)
  if (wire === undefined)
    throw new TypeError('a message references a stored block, which items of the Agents SDK do not support')
  // Safe cast: these are stored items, or items that the codec writes (a type test checks their type).
  return wire.map(restoreTagged) as AgentInputItem[]
}

const restoreTagged = (item: unknown): unknown => {
  const { [tagField]: tags, ...rest } = item as JsonObject
  return Array.isArray(tags) ? revivePlain(rest, tags as unknown as readonly Tag[]) : item
}
