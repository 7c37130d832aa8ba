/** Decodes LangChain messages in JSON form. */
import {
  aList,
  anObject,
  aString,
  isObject,
  readEach,
  readIn,
  Unexpected,
  type Json,
  type JsonObject,
} from 'indelible/internal/json'
import {
  type Decode,
  decodeWire,
  callPart,
  filePart,
  imagePart,
  keepingOf,
  messageOf,
  reasoningPart,
  resultPart,
  stringIn,
  textPart,
  sourceOf,
  type Resolved,
} from 'indelible/internal/codecs'
import type { Message, Part, ReasoningPart, ResultPart, Role, ToolCallPart } from 'indelible/message'
import * as wires from './fields.ts'
import { format, type Spelling } from './fields.ts'

const { keep, mark, raw } = keepingOf(format)

/** Decodes messages, an array. */
export const decode: Decode = (wire) =>
  decodeWire(format, wire, (value) => readEach(aList(value), (item) => readLangChainMessage(anObject(item))))

/** Reads one message that is already frozen JSON. Throws Unexpected. */
export const readLangChainMessage = (wire: JsonObject): Message => {
  const { spelling, name, inside } = spellingIn(wire)
  const role = typeof name === 'string' ? wires.roleOf.get(name.replace(/Chunk$/, '')) : undefined
  if (role === undefined)
    throw new Unexpected(spelling === 'constructor' ? ['id'] : ['type'], 'a human, AI, system or tool message', name)
  if (inside === undefined) return readFields(wire, wire, role, spelling)
  return readIn(wire, inside, (fields) => readFields(wire, anObject(fields), role, spelling))
}

const spellingIn = (
  wire: JsonObject,
): { readonly spelling: Spelling; readonly name: unknown; readonly inside?: 'kwargs' | 'data' } => {
  if (isObject(wire['kwargs']) && Array.isArray(wire['id']))
    return { spelling: 'constructor', name: wire['id'].at(-1), inside: 'kwargs' }
  if (isObject(wire['data']) && wire['content'] === undefined)
    return { spelling: 'stored', name: wire['type'], inside: 'data' }
  return { spelling: 'flat', name: wire['type'] }
}

const readFields = (wire: JsonObject, fields: JsonObject, content: Role, spelling: Spelling): Message => {
  const { additional_kwargs: more } = fields
  const role: Role =
    content === 'system' && isObject(more) && more['__openai_role__'] === 'developer' ? 'developer' : content
  const id = stringIn(fields, 'id')
  const name = stringIn(fields, 'name')
  const calls = role === 'assistant' ? readCalls(fields) : []
  const { parts, words } = readContent(fields, calls)
  const callId = role === 'tool' ? readIn(fields, 'tool_call_id', aString) : undefined
  const isError = role === 'tool' && fields['status'] === 'error'
  const written = wires.fieldsOf(role, {
    id,
    name,
    calls: calls.map(({ wire: call }) => call),
    isError,
    callId,
  })
  const outside =
    spelling === 'flat' ? [] : Object.keys(wire).filter((key) => key !== (spelling === 'stored' ? 'data' : 'kwargs'))
  const around = Object.fromEntries(outside.map((key) => [key, wire[key] as Json]))
  const isContent = typeof fields['content'] === 'string' || Array.isArray(fields['content'])
  const rest = isContent ? fields : { ...fields, ...(fields['content'] !== undefined && { other: fields['content'] }) }
  const kept = keep(
    { around, fields: withoutContent(rest) },
    {
      around: spelling === 'flat' ? {} : wires.envelopeOf(role, spelling),
      fields: { ...(spelling === 'flat' && wires.envelopeOf(role, spelling)), ...written },
    },
    [...(spelling === 'constructor' ? [] : [spelling]), ...words].join(' '),
  )
  if (callId === undefined) return messageOf(role, parts, kept, id, name)
  const result = resultPart(callId, parts as readonly ResultPart[], {}, name, isError || undefined)
  return messageOf(role, [result], kept, id)
}

const withoutContent = (fields: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(fields).filter(([key]) => key !== 'content'))

interface ReadCall {
  readonly id: string
  readonly name: string
  readonly args: Json
  /** The call in wire format. */
  readonly wire: JsonObject
}

const readCalls = (fields: JsonObject): readonly ReadCall[] => {
  if (!Array.isArray(fields['tool_calls'])) return []
  return readIn(fields, 'tool_calls', (list) =>
    readEach(aList(list), (item) => {
      const call = anObject(item)
      return {
        id: readIn(call, 'id', aString),
        name: readIn(call, 'name', aString),
        args: readIn(call, 'args', (args) => anObject(args as Json)),
        wire: call,
      }
    }),
  )
}

/**
 * Reads a message's blocks, followed by its calls. An Anthropic call is also among the blocks; its
 * part then goes there, if that keeps the calls in order.
 */
const readContent = (
  fields: JsonObject,
  calls: readonly ReadCall[],
): { readonly parts: readonly Part[]; readonly words: readonly string[] } => {
  const { content } = fields
  const callParts = (from: readonly ReadCall[]): readonly Part[] => from.map((call) => readCall(call, undefined))
  if (typeof content === 'string')
    return { parts: [...(content === '' ? [] : [textPart(content)]), ...callParts(calls)], words: [] }
  if (!Array.isArray(content)) return { parts: callParts(calls), words: ['none'] }
  const blocks = content as readonly Json[]
  const placed = callsByBlock(blocks, calls)
  const parts = readIn(fields, 'content', () =>
    readEach(blocks, (block): Part => {
      const call = isObject(block) ? placed.get(block) : undefined
      return call === undefined ? readBlock(block) : readCall(call, block as JsonObject)
    }),
  )
  const behind = calls.slice(placed.size)
  const [only] = parts
  const isString =
    parts.length === 0 || (parts.length === 1 && only?.type === 'text' && only.meta === undefined && only.text !== '')
  return { parts: [...parts, ...callParts(behind)], words: isString ? ['blocks'] : [] }
}

/** The blocks that are calls, if they are the first calls of the list in the same order; otherwise none. */
const callsByBlock = (blocks: readonly Json[], calls: readonly ReadCall[]): ReadonlyMap<JsonObject, ReadCall> => {
  const found = new Map<JsonObject, ReadCall>()
  for (const block of blocks) {
    if (!isObject(block) || block['type'] !== 'tool_use' || typeof block['id'] !== 'string') continue
    const call = calls[found.size]
    if (call === undefined || call.id !== block['id'] || found.has(block)) return new Map()
    found.set(block, call)
  }
  return found
}

const readCall = ({ id, name, args, wire }: ReadCall, block: JsonObject | undefined): ToolCallPart => {
  const written = { call: wires.callOf(id, name, args), ...(block && { block: wires.toolUse(id, name, args) }) }
  const kept = keep({ call: wire, ...(block && { block }) }, written, block && 'block')
  return callPart(id, name, JSON.stringify(args), kept)
}

const readBlock = (block: Json): Part & (ResultPart | ReasoningPart) => {
  if (typeof block === 'string') return textPart(block, mark('string'))
  if (!isObject(block)) return raw(block)
  const { type, text, image_url: image, thinking, reasoning } = block
  if (type === 'text' && typeof text === 'string') return textPart(text, keep(block, wires.textBlock(text)))
  if (type === 'thinking' && typeof thinking === 'string') {
    const signature = stringIn(block, 'signature')
    return reasoningPart(thinking, signature, keep(block, wires.thinking(thinking, signature), 'thinking'))
  }
  if (type === 'reasoning' && typeof reasoning === 'string')
    return reasoningPart(reasoning, undefined, keep(block, wires.reasoningBlock(reasoning), 'reasoning'))
  if (type === 'image_url') {
    const url = typeof image === 'string' ? image : isObject(image) ? image['url'] : undefined
    if (typeof url !== 'string') return raw(block)
    const source = sourceOf(url)
    const asText = typeof image === 'string'
    return imagePart(source, keep(block, wires.imageBlock(source, asText), asText && 'string'))
  }
  if (type === 'file' && (typeof block['data'] === 'string' || typeof block['url'] === 'string'))
    return readFile(block, stringIn(block, 'mimeType'))
  return raw(block)
}

const readFile = (block: JsonObject, mediaType: string | undefined): Part & ResultPart => {
  const { data, url, metadata } = block
  if (typeof data === 'string' && mediaType === undefined) return raw(block)
  const name = isObject(metadata) ? stringIn(metadata, 'filename') : undefined
  const source: Resolved =
    typeof url === 'string'
      ? freeze({ type: 'url', url, ...(mediaType !== undefined && { mediaType }) })
      : freeze({ type: 'base64', data: data as string, mediaType: mediaType as string })
  return filePart(source, name, keep(block, wires.fileBlock(source, name)))
}

const { freeze } = Object
