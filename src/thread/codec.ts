/**
 * Converts between thread items and messages, so that a thread can become a history and back.
 *
 * Item data beyond the message model (a `rawItem`, application fields, whether arguments were text or a value) is
 * kept in the `meta.aioc` of its part. An item of an unknown type becomes a `provider` part and is restored
 * unchanged. Reasoning, pictures and other parts without an aioc item become separate items. A message's other data
 * (id, name, `meta`) is stored in the first of its items, in `rawItem.indelible`, without the content of the items
 * themselves: redacting the items also redacts the message.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import {
  anObject,
  aString,
  describe,
  isObject,
  isRight,
  type Json,
  jsonEqual,
  jsonOrText,
  type JsonObject,
  left,
  NotJson,
  readIn,
  right,
  snapshot,
  Unexpected,
} from '../json/index.ts'
import {
  decodeMessage,
  isText,
  type Message,
  type Meta,
  type Part,
  type ResultPart,
  type Role,
  type TextPart,
  type ToolResultPart,
} from '../message/index.ts'
import { isRole, lengthOf, withErasedText } from '../message/internal.ts'
import { type DecodeFault } from '../codecs/index.ts'
import type { Sequence } from '../sequence/index.ts'
import type { PartItem, ThreadItem } from './item.ts'

const format = 'aioc'

/**
 * Decodes thread items into messages.
 *
 * A call is added to the assistant message that it directly follows, so that parallel calls are in one message, as
 * providers require. An item of an unknown type (an approval, a handoff) is added to the preceding assistant or tool
 * message as a `provider` part; `encodeThread` restores it unchanged.
 *
 * Cost    O(everything in the items)
 * @param history the items, plain JSON data; a field that is `undefined` counts as absent
 * @returns the messages, frozen; or a fault that names the item and what was expected there
 * @example
 * decodeThread([{ type: 'message', role: 'user', content: 'hello' }]) // right([user('hello')])
 */
export const decodeThread = (history: readonly unknown[]): Either<DecodeFault, readonly Message[]> => {
  if (!Array.isArray(history))
    return left({ _tag: 'UnexpectedWire', format, path: [], expected: 'an array of items', found: describe(history) })
  const items: Item[] = []
  for (let position = 0; position < history.length; position++) {
    try {
      items.push(checkedItem(snapshot(withoutUndefined(history[position])) as Json))
    } catch (error) {
      if (error instanceof Unexpected) {
        const { path, expected, found } = error.within(position)
        return left({ _tag: 'UnexpectedWire', format, path, expected, found })
      }
      // Any error but NotJson was thrown by a trap or getter of the item.
      const { path, reason } = error instanceof NotJson ? error : { path: [], reason: 'could not be read' }
      return left({ _tag: 'WireNotJson', format, path: [position, ...path], reason })
    }
  }
  return right(messagesOf(items))
}

/**
 * Encodes messages as thread items.
 *
 * `decodeThread` restores equal messages. The content of an item is stored only in that item: if you redact or change
 * an item's `content`, the decoded message has the changed text. Reasoning, pictures and other parts without an aioc
 * item become `part_item` items: delete one, and the decoded message lacks that part.
 *
 * Cost    O(everything in the messages), twice
 * @param messages an array or a view of messages
 * @returns a new array of plain objects that you own
 * @example
 * encodeThread([user('hello')]) // [{ type: 'message', role: 'user', content: 'hello' }]
 */
export const encodeThread = (messages: Sequence<Message>): ThreadItem[] => {
  lengthOf(messages)
  const history: Item[] = []
  let open: Open // the message that the next item could join
  for (const input of messages) {
    const message = withErasedText(input)
    const items = itemsOf(message)
    const [again, ...others] = messagesOf(items)
    const exact = others.length === 0 && jsonEqual(again ?? null, message)
    const alone: boolean = exact && !joinsMessage(items[0], open)
    history.push(...(alone ? items : itemsCarrying(message)))
    open = alone ? openOf(message) : undefined
  }
  return history
}

/** An item as JSON, including fields outside its type. */
type Item = ThreadItem & JsonObject

/** The role of the last message, if an item may still join it. */
type Open = 'assistant' | 'tool' | undefined

const openOf = ({ role }: Message): Open => (role === 'assistant' || role === 'tool' ? role : undefined)

/** Whether an item joins the message before it. Approvals may be between a call and its result. */
const joinsMessage = (item: Item | undefined, open: Open): boolean =>
  item !== undefined &&
  open !== undefined &&
  (isKnown(item) ? open === 'assistant' && item.type === 'tool_call_item' : true)

const messagesOf = (items: readonly Item[]): readonly Message[] => {
  const messages: Message[] = []
  let open: Open
  for (let index = 0; index < items.length;) {
    const item = items[index] as Item
    const carried = carriedMessage(items, index)
    const before = messages.at(-1)
    if (carried !== undefined) {
      messages.push(carried.message)
      index += carried.items
    } else if (isOwnPart(item)) {
      // Its message was edited, or its first item was deleted.
      if (before?.role === item.role) messages[messages.length - 1] = joinPart(before, item)
      else messages.push(joinPart({ role: item.role, content: [] }, item))
      index += 1
      continue
    } else {
      if (before !== undefined && joinsMessage(item, open)) messages[messages.length - 1] = joinItem(before, item)
      else messages.push({ role: roleOf(item), content: [partOf(item)] })
      index += 1
    }
    const last = messages.at(-1)
    open = carried === undefined && last !== undefined ? openOf(last) : undefined
  }
  return snapshot(messages) as readonly Message[]
}

/** Adds an item to a message. In a tool message other parts would separate the next result from its call. */
const joinItem = (message: Message, item: Item): Message =>
  message.role === 'tool'
    ? withFollowers(message, [...followersOf(message), item])
    : { ...message, content: [...message.content, partOf(item)] }

type OwnPart = Item & PartItem & { readonly role: Role }

/** Whether an item is a part that `encodeThread` wrote. One without a role is an application's, or in its message. */
const isOwnPart = (item: Item): item is OwnPart =>
  item.type === 'part_item' &&
  isRole(item.role) &&
  Array.isArray(item.at) &&
  item.at.every((place) => typeof place === 'number')

/** Adds a separate part to its message, at its place. */
const joinPart = (message: Message, item: OwnPart): Message => {
  const [index = 0, slot] = item.at
  const result = message.content[index]
  const content =
    slot === undefined
      ? message.content.toSpliced(index, 0, item.part as Part)
      : result?.type === 'tool_result'
        ? message.content.with(index, {
            ...result,
            content: result.content.toSpliced(slot, 0, item.part as ResultPart),
          })
        : undefined
  const joined = decodeMessage({ ...message, content })
  return isRight(joined) ? joined.right : joinItem(message, item)
}

/** The items of unknown types that follow a tool message's results. */
const followersOf = ({ role, meta }: Message): readonly Item[] => {
  const { after } = asObject(meta?.[format])
  return role === 'tool' && Array.isArray(after) && after.every(isUnknownItem) ? (after as readonly Item[]) : []
}

/** The message with these items following it. */
const withFollowers = (message: Message, after: readonly Item[]): Message => {
  const { meta = {}, ...others } = message
  const { [format]: own, ...owners } = meta
  const { after: _, ...rest } = asObject(own)
  const kept = { ...rest, ...(after.length > 0 && { after }) }
  const all: Meta = { ...owners, ...(Object.keys(kept).length > 0 && { [format]: kept }) }
  return { ...others, ...(Object.keys(all).length > 0 && { meta: all }) }
}

const roleOf = (item: Item): Message['role'] =>
  item.type === 'message' ? item.role : item.type === 'tool_call_output_item' ? 'tool' : 'assistant'

const partOf = (item: Item): Part => {
  switch (item.type) {
    case 'message':
      return { type: 'text', text: item.content, ...metaOf(item, ['type', 'role', 'content']) }
    case 'tool_call_item': {
      const { callId, name, arguments: args } = item
      const how = args === undefined ? 'absent' : typeof args === 'string' ? undefined : 'value'
      const text = typeof args === 'string' ? args : args === undefined ? '' : JSON.stringify(args)
      return {
        type: 'tool_call',
        id: callId,
        name,
        arguments: text,
        ...metaOf(item, ['type', 'callId', 'name', 'arguments'], how && { arguments: how }),
      }
    }
    case 'tool_call_output_item': {
      const { callId, output } = item
      const text = typeof output === 'string' ? output : JSON.stringify(output)
      const how = output === undefined || typeof output === 'string' ? undefined : { output: 'value' }
      return {
        type: 'tool_result',
        callId,
        content: output === undefined ? [] : [{ type: 'text', text }],
        ...metaOf(item, ['type', 'callId', 'output'], how),
      }
    }
    default:
      return { type: 'provider', provider: format, raw: item }
  }
}

/** The `meta` for item fields without a place in the part, plus how the values were written. */
const metaOf = (item: Item, known: readonly string[], how?: JsonObject | ''): { readonly meta?: Meta } => {
  const others = { ...Object.fromEntries(Object.entries(item).filter(([name]) => !known.includes(name))), ...how }
  return Object.keys(others).length === 0 ? {} : { meta: { [format]: others } }
}

/** The items for the parts of a message that have an item type. */
const itemsOf = (message: Message): readonly Item[] => [
  ...message.content.flatMap((part) => itemOf(part, itemRole(message)) ?? []),
  ...followersOf(message),
]

const itemRole = ({ role }: Pick<Message, 'role'>): 'user' | 'assistant' | 'system' =>
  role === 'developer' ? 'system' : role === 'tool' ? 'user' : role

/** The item for a part; undefined if there is no item type for it. */
const itemOf = (part: Part, role: 'user' | 'assistant' | 'system'): Item | undefined => {
  const { arguments: argued, output: input, ...others } = asObject(part.meta?.[format])
  switch (part.type) {
    case 'text':
    case 'refusal':
      return { type: 'message', role, content: part.text, ...others }
    case 'tool_call': {
      const value = argued === 'value' ? (jsonOrText(part.arguments) as Json) : part.arguments
      return {
        type: 'tool_call_item',
        callId: part.id,
        name: part.name,
        ...(argued !== 'absent' && { arguments: value }),
        ...others,
      }
    }
    case 'tool_result': {
      const text = textOf(part)
      const output = input === 'value' ? (jsonOrText(text) as Json) : text
      return {
        type: 'tool_call_output_item',
        callId: part.callId,
        ...(part.content.length > 0 && { output }),
        ...others,
      }
    }
    case 'provider': {
      return part.provider === format && isUnknownItem(part.raw) ? (part.raw as Item) : undefined
    }
    default:
      return undefined
  }
}

/** A message without the content of its items, stored in the first of them. */
interface CarriedMessage {
  readonly role: Message['role']
  readonly id?: string
  readonly name?: string
  readonly meta?: Meta
  /** For each part, the fields that its item lacks. */
  readonly parts: readonly (typeof ownItemPlace | { readonly item: string; readonly lacks: JsonObject })[]
  /** The number of following items of unknown types. */
  readonly after?: number
}

/** Marks a part that is a separate item. */
const ownItemPlace = null

/** The items of a message, with its other data stored in the first. */
const itemsCarrying = (message: Message): readonly Item[] => {
  const followers = followersOf(message)
  const { content, ...others } = followers.length > 0 ? withFollowers(message, []) : message
  const role = itemRole(message)
  const items: Item[] = []
  const own: Item[] = []
  const setApart = (part: Part | ResultPart, ...at: readonly number[]): typeof ownItemPlace => {
    own.push({ type: 'part_item', role: message.role, at, part } as unknown as Item)
    return ownItemPlace
  }
  const parts = content.map((part, index): CarriedMessage['parts'][number] => {
    const item = itemOf(part, role)
    if (item === undefined) return setApart(part, index)
    items.push(item)
    const lacks = fieldsNotIn(part, item, items.length === 1)
    if (part.type !== 'tool_result' || lacks['content'] === undefined) return { item: item.type, lacks }
    const slots = part.content.map((each, at) => (isText(each) ? withoutText(each) : setApart(each, index, at)))
    return { item: item.type, lacks: { ...lacks, content: slots } }
  })
  // An item of an unknown type must stay unchanged, so it can't store anything.
  if (items[0] === undefined || !isKnown(items[0])) items.unshift({ type: 'message', role, content: '' })
  const [first, ...rest] = items
  const carried: CarriedMessage = { ...others, parts, ...(followers.length > 0 && { after: followers.length }) }
  return [{ ...(first as Item), rawItem: { indelible: carried } } as unknown as Item, ...rest, ...own, ...followers]
}

/** The fields of a part that its item lacks. The first item has no room for its own `rawItem`. */
const fieldsNotIn = (part: Part, item: Item, isFirst: boolean): JsonObject => {
  const { rawItem: _, ...bare } = item
  const fields = asObject(partOf((isFirst ? bare : item) as Item) as unknown as Json)
  const lacks: { [field: string]: Json } = {}
  for (const [field, value] of Object.entries(part as unknown as JsonObject)) {
    if (Object.hasOwn(fields, field) && jsonEqual(fields[field], value)) continue
    lacks[field] = value
  }
  return lacks
}

/** A result's text is stored as its length only; the text itself is in the item's output. */
const withoutText = ({ text, ...others }: TextPart): JsonObject => ({ ...others, length: text.length })

/** The message stored in an item, completed from it and the items after it; undefined if it stores none. */
const carriedMessage = (
  items: readonly Item[],
  index: number,
): { readonly message: Message; readonly items: number } | undefined => {
  const first = items[index]
  if (first === undefined || !isKnown(first)) return undefined
  const carried = asObject(asObject(first.rawItem as Json | undefined)['indelible'])
  const { parts, after, ...others } = carried
  if (!Array.isArray(parts) || !hasRoleOf(first, others)) return undefined
  const text = (parts as readonly Json[]).map((part) => (part === ownItemPlace ? undefined : asObject(part)))
  const saying = text.find((part) => part !== undefined)
  const from = index + (saying !== undefined && isKnown(saying, 'item') ? 0 : 1)
  const end = from + text.filter((part) => part !== undefined).length
  const own = ownItems(items, end, ownItemPlaces(text), others['role'])
  let at = from
  const content: Json[] = []
  for (const [place, each] of text.entries()) {
    if (each === undefined) {
      content.push(...own.partAt(place))
      continue
    }
    const item = items[at]
    if (item === undefined || item.type !== each['item'] || !hasRoleOf(item, others)) return undefined
    const { rawItem: _, ...bare } = item
    const lacks = asObject(each['lacks'])
    content.push(fillPart(partOf((at === index ? bare : item) as Item), lacks, (slot) => own.partAt(place, slot)))
    at += 1
  }
  at += own.length
  const message = decodeMessage({ ...others, content })
  if (!isRight(message)) return undefined
  const followers = items.slice(at, at + (typeof after === 'number' ? after : 0))
  if (!followers.every((item) => isUnknownItem(item))) return undefined
  return {
    message: followers.length > 0 ? withFollowers(message.right, followers) : message.right,
    items: at + followers.length - index,
  }
}

/** Whether an item could be of a message with this role. Otherwise the item counts, as for any edited message. */
const hasRoleOf = (item: Item, { role }: JsonObject): boolean =>
  item.type !== 'message' || (isRole(role) && item.role === itemRole({ role }))

/** The separate part items starting at an index. Deleted or invalid ones are skipped. */
const ownItems = (
  items: readonly Item[],
  from: number,
  places: ReadonlySet<string>,
  ownRole: Json | undefined,
): { readonly length: number; readonly partAt: (...at: readonly number[]) => readonly Json[] } => {
  const parts = new Map<string, readonly Json[]>()
  for (const item of items.slice(from)) {
    const { at, part, role = ownRole } = item as unknown as JsonObject
    if (item.type !== 'part_item' || role !== ownRole || !places.has(String(at)) || parts.has(String(at))) break
    parts.set(String(at), typeof part === 'object' ? [part] : [])
  }
  return { length: parts.size, partAt: (...at) => parts.get(String(at)) ?? [] }
}

/** The places of parts that are separate items. */
const ownItemPlaces = (items: readonly (JsonObject | undefined)[]): ReadonlySet<string> =>
  new Set(
    items.flatMap((each, place) => {
      if (each === undefined) return [String(place)]
      const { content } = asObject(each['lacks'])
      return Array.isArray(content)
        ? content.flatMap((slot, at) => (slot === ownItemPlace ? [`${place},${at}`] : []))
        : []
    }),
  )

/** A part built from its item and the fields that the item lacks. */
const fillPart = (result: Part, lacks: JsonObject, partAt: (slot: number) => readonly Json[]): Json => {
  const { content, ...others } = lacks
  const part = { ...(result as unknown as JsonObject), ...others }
  if (result.type !== 'tool_result' || !Array.isArray(content)) return part
  const text = textOf(result)
  const slots = (content as readonly Json[]).map(asObject).filter((slot) => typeof slot['length'] === 'number')
  const isWhole = slots.reduce((sum, slot) => sum + (slot['length'] as number), 0) === text.length
  let from = 0
  const parts = (content as readonly Json[]).flatMap((each, index): readonly Json[] => {
    const { length, ...slot } = asObject(each)
    if (typeof length !== 'number') return partAt(index)
    // If the output was changed, all of it goes into the first text.
    const to = isWhole ? from + length : text.length
    const own = { text: text.slice(from, to) }
    from = to
    return [Object.assign(slot, own)]
  })
  return { ...part, content: parts }
}

const textOf = ({ content }: ToolResultPart): string =>
  content
    .filter(isText)
    .map(({ text }) => text)
    .join('')

const asObject = (value: Json | undefined): JsonObject => (isObject(value) ? value : {})

/** Removes undefined fields, which count as absent. */
const withoutUndefined = (item: unknown): unknown =>
  typeof item === 'object' &&
  item !== null &&
  Object.getPrototypeOf(item) === Object.prototype &&
  Object.values(item).includes(undefined)
    ? Object.fromEntries(Object.entries(item).filter(([, value]) => value !== undefined))
    : item

const texts: { readonly [type: string]: readonly string[] } = {
  message: ['content'],
  tool_call_item: ['callId', 'name'],
  tool_call_output_item: ['callId'],
}
const roles = ['user', 'assistant', 'system']

const isKnown = (item: JsonObject, field = 'type'): boolean => {
  const type = item[field]
  return typeof type === 'string' && Object.hasOwn(texts, type)
}

const isUnknownItem = (value: Json): boolean => {
  const item = asObject(value)
  return typeof item['type'] === 'string' && !isKnown(item)
}

/** Checks an item's known fields. Throws Unexpected. */
const checkedItem = (value: Json): Item => {
  const item = anObject(value)
  const type = readIn(item, 'type', aString)
  for (const name of isKnown(item) ? (texts[type] ?? []) : []) readIn(item, name, aString)
  const { role } = item
  if (type === 'message' && !(typeof role === 'string' && roles.includes(role)))
    throw new Unexpected(['role'], `one of ${roles.join(', ')}`, role)
  return item as Item
}
