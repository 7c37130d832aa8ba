/**
 * Between thread items and messages, so that a thread can become a history and back.
 *
 * What an item says beyond the message model (a `rawItem`, fields of the application's, whether arguments were text or
 * a value) is kept in the `meta.aioc` of its part. What a message says beyond the items (pictures, reasoning, names)
 * rides along whole, as `rawItem: { indelible: message }` on the first of its items. So both ways are lossless.
 */
import { isRight, left, right, type Either } from 'fp-ts/lib/Either.js'
import { describe, jsonEqual, NotJson, snapshot, type Json, type JsonObject } from '../json/index.ts'
import { decodeMessage, isText, type CodecFault, type Message, type Meta, type Part, type ToolResultPart } from '../message/index.ts'
import type { Sequence } from '../sequence/index.ts'
import type { ThreadItem } from './item.ts'

const format = 'aioc'

/**
 * The messages of a thread's history, frozen, or a fault that names the place. A call joins the assistant's message
 * that it follows directly, so that parallel calls stand in one message, where providers want them.
 *
 * Cost    O(everything in the items)
 * @example
 * decodeThread([{ type: 'message', role: 'user', content: 'hello' }]) // right([user('hello')])
 */
export const decodeThread = (history: readonly unknown[]): Either<CodecFault, readonly Message[]> => {
  if (!Array.isArray(history)) return left({ _tag: 'UnexpectedWire', format, path: [], expected: 'an array of items', found: describe(history) })
  const items: Item[] = []
  for (let position = 0; position < history.length; position++) {
    try {
      const item = snapshot(withoutUndefined(history[position])) as Json
      const problem = problemOf(item)
      if (problem !== undefined) return left({ _tag: 'UnexpectedWire', format, path: [position, ...problem.path], expected: problem.expected, found: problem.found })
      items.push(item as Item)
    } catch (error) {
      // What is no NotJson was thrown by a trap or a getter of the item's own.
      const { path, reason } = error instanceof NotJson ? error : { path: [], reason: 'could not be read' }
      return left({ _tag: 'WireNotJson', format, path: [position, ...path], reason })
    }
  }
  return right(messagesOf(items))
}

/**
 * The items of messages: plain objects, the application's to keep.
 *
 * Cost    O(everything in the messages), twice
 */
export const encodeThread = (messages: Sequence<Message>): ThreadItem[] => {
  const history: Item[] = []
  let open = false // whether a call would join the message before
  for (const message of messages) {
    const items = itemsOf(message)
    const [again, ...others] = messagesOf(items)
    const exact = others.length === 0 && jsonEqual(again as unknown as Json, message as unknown as Json)
    const alone: boolean = exact && !(open && items[0]?.type === 'tool_call_item')
    history.push(...(alone ? items : carrying(message, items)))
    open = alone && message.role === 'assistant'
  }
  return history
}

/** An item as JSON, with whatever fields it has beside those of its type. */
type Item = ThreadItem & JsonObject

const messagesOf = (items: readonly Item[]): readonly Message[] => {
  const messages: Message[] = []
  let open = false
  for (let index = 0; index < items.length; ) {
    const item = items[index] as Item
    const carried = carriedBy(items, index)
    const before = messages.at(-1)
    if (carried !== undefined) {
      messages.push(carried)
      index += itemsOf(carried).length
    } else {
      if (open && before !== undefined && item.type === 'tool_call_item') messages[messages.length - 1] = { ...before, content: [...before.content, partOf(item)] }
      else messages.push({ role: roleOf(item), content: [partOf(item)] })
      index += 1
    }
    open = carried === undefined && messages.at(-1)?.role === 'assistant'
  }
  return snapshot(messages) as readonly Message[]
}

const roleOf = (item: Item): Message['role'] => (item.type === 'message' ? item.role : item.type === 'tool_call_item' ? 'assistant' : 'tool')

const partOf = (item: Item): Part => {
  switch (item.type) {
    case 'message':
      return { type: 'text', text: item.content, ...metaOf(item, ['type', 'role', 'content']) }
    case 'tool_call_item': {
      const { callId, name, arguments: given } = item
      const how = given === undefined ? 'absent' : typeof given === 'string' ? undefined : 'value'
      const text = typeof given === 'string' ? given : given === undefined ? '' : JSON.stringify(given)
      return { type: 'tool_call', id: callId, name, arguments: text, ...metaOf(item, ['type', 'callId', 'name', 'arguments'], how && { arguments: how }) }
    }
    case 'tool_call_output_item': {
      const { callId, output } = item
      const text = typeof output === 'string' ? output : JSON.stringify(output)
      const how = output === undefined || typeof output === 'string' ? undefined : { output: 'value' }
      return { type: 'tool_result', callId, content: output === undefined ? [] : [{ type: 'text', text }], ...metaOf(item, ['type', 'callId', 'output'], how) }
    }
  }
}

/** The fields of an item that its part has no place for, and how what it has was written (under names that are no such field). */
const metaOf = (item: Item, known: readonly string[], how?: JsonObject | ''): { readonly meta?: Meta } => {
  const others = { ...Object.fromEntries(Object.entries(item).filter(([name]) => !known.includes(name))), ...how }
  return Object.keys(others).length === 0 ? {} : { meta: { [format]: others } }
}

/** The items that say of a message what items can say. At least one. */
const itemsOf = (message: Message): readonly Item[] => {
  const role = message.role === 'developer' ? 'system' : message.role === 'tool' ? 'user' : message.role
  const items: Item[] = []
  for (const part of message.content) {
    const { arguments: argued, output: given, ...others } = asObject(part.meta?.[format])
    if (part.type === 'tool_call') {
      const value = argued === 'value' ? parsed(part.arguments) : part.arguments
      items.push({ type: 'tool_call_item', callId: part.id, name: part.name, ...(argued !== 'absent' && { arguments: value }), ...others })
    } else if (part.type === 'tool_result') {
      const text = textOf(part)
      const output = given === 'value' ? parsed(text) : text
      items.push({ type: 'tool_call_output_item', callId: part.callId, ...(part.content.length > 0 && { output }), ...others })
    } else if (part.type === 'text' || part.type === 'refusal') items.push({ type: 'message', role, content: part.text, ...others })
  }
  return items.length > 0 ? items : [{ type: 'message', role, content: '' }]
}

/** The same items, with the message itself on the first. */
const carrying = (message: Message, [first, ...rest]: readonly Item[]): readonly Item[] => [{ ...(first as Item), rawItem: { indelible: message } } as unknown as Item, ...rest]

/** The message that rides on an item; undefined if there is none, or the items have been changed since. */
const carriedBy = (items: readonly Item[], index: number): Message | undefined => {
  const carried = asObject(items[index]?.rawItem as Json | undefined)['indelible']
  if (carried === undefined) return undefined
  const message = decodeMessage(carried)
  if (!isRight(message)) return undefined
  const expected = carrying(message.right, itemsOf(message.right))
  return jsonEqual(items.slice(index, index + expected.length), expected) ? message.right : undefined
}

const textOf = ({ content }: ToolResultPart): string => content.filter(isText).map(({ text }) => text).join('')

/** The value that a text is the JSON of; the text itself, if somebody has changed it to what is none. */
const parsed = (text: string): Json => {
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}

const asObject = (value: Json | undefined): JsonObject => (typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {})

/** What is undefined in an item is not there. */
const withoutUndefined = (item: unknown): unknown =>
  typeof item === 'object' && item !== null && Object.getPrototypeOf(item) === Object.prototype && Object.values(item).includes(undefined)
    ? Object.fromEntries(Object.entries(item).filter(([, value]) => value !== undefined))
    : item

interface Problem {
  readonly path: readonly string[]
  readonly expected: string
  readonly found: string
}

const texts: { readonly [type: string]: readonly string[] } = {
  message: ['content'],
  tool_call_item: ['callId', 'name'],
  tool_call_output_item: ['callId'],
}
const roles = ['user', 'assistant', 'system']

const problemOf = (item: Json): Problem | undefined => {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return { path: [], expected: 'an object', found: described(item) }
  const { type, role } = item as JsonObject
  if (typeof type !== 'string' || !Object.hasOwn(texts, type)) return { path: ['type'], expected: `one of ${Object.keys(texts).join(', ')}`, found: described(type) }
  for (const name of texts[type] ?? []) {
    const value = (item as JsonObject)[name]
    if (typeof value !== 'string') return { path: [name], expected: 'a string', found: described(value) }
  }
  if (type === 'message' && !(typeof role === 'string' && roles.includes(role))) return { path: ['role'], expected: `one of ${roles.join(', ')}`, found: described(role) }
  return undefined
}

const described = (value: Json | undefined): string =>
  value === undefined ? 'nothing' : Array.isArray(value) ? 'an array' : typeof value === 'object' && value !== null ? 'an object' : JSON.stringify(value).slice(0, 40)
