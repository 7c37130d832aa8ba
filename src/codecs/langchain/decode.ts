/** Decodes LangChain messages in JSON form. */
import type { Either } from 'fp-ts/lib/Either.js'
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
} from '../../json/index.ts'
import { decodeWire } from '../admit.ts'
import type { DecodeFault } from '../fault.ts'
import type { Decoded } from '../codec.ts'
import type {
  FilePart,
  Message,
  Meta,
  Part,
  ReasoningPart,
  ResultPart,
  Role,
  ToolCallPart,
} from '../../message/index.ts'
import { keepResidual } from '../residual.ts'
import { sourceOf } from '../source.ts'
import * as wires from './fields.ts'
import { format, type Spelling } from './fields.ts'

/** Decodes messages, an array. */
export const decode = (wire: unknown): Either<DecodeFault, Decoded> =>
  decodeWire(format, wire, (value) => readEach(aList(value), (item) => readLangChainMessage(anObject(item))))

/** Reads one message that is already frozen JSON. Throws Unexpected. */
export const readLangChainMessage = (wire: JsonObject): Message => {
  const { spelling, name, inside } = spellingIn(wire)
  const said = typeof name === 'string' ? wires.roleOf.get(name.replace(/Chunk$/, '')) : undefined
  if (said === undefined)
    throw new Unexpected(spelling === 'constructor' ? ['id'] : ['type'], 'a human, AI, system or tool message', name)
  if (inside === undefined) return readFields(wire, wire, said, spelling)
  return readIn(wire, inside, (fields) => readFields(wire, anObject(fields), said, spelling))
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

const readFields = (wire: JsonObject, fields: JsonObject, said: Role, spelling: Spelling): Message => {
  const { additional_kwargs: more } = fields
  const role: Role = said === 'system' && isObject(more) && more['__openai_role__'] === 'developer' ? 'developer' : said
  const id = typeof fields['id'] === 'string' ? fields['id'] : undefined
  const name = typeof fields['name'] === 'string' ? fields['name'] : undefined
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
  const kept = keepResidual(
    format,
    { around, fields: withoutContent(rest) },
    {
      around: spelling === 'flat' ? {} : (wires.envelopeOf(role, spelling) as JsonObject),
      fields: { ...(spelling === 'flat' && wires.envelopeOf(role, spelling)), ...written } as JsonObject,
    },
    [...(spelling === 'constructor' ? [] : [spelling]), ...words].join(' ') || undefined,
  )
  if (callId === undefined)
    return freeze({
      role,
      content: freeze(parts),
      ...(id !== undefined && { id }),
      ...(name !== undefined && { name }),
      ...kept,
    })
  const result = freeze({
    type: 'tool_result' as const,
    callId,
    content: freeze(parts as readonly ResultPart[]),
    ...(name !== undefined && { name }),
    ...(isError && { isError }),
  })
  return freeze({ role, content: freeze([result]), ...(id !== undefined && { id }), ...kept })
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
  const callParts = (from: readonly ReadCall[]): readonly Part[] => from.map((call) => callPart(call, undefined))
  if (typeof content === 'string')
    return { parts: [...(content === '' ? [] : [text(content)]), ...callParts(calls)], words: [] }
  if (!Array.isArray(content)) return { parts: callParts(calls), words: ['none'] }
  const blocks = content as readonly Json[]
  const placed = callsByBlock(blocks, calls)
  const parts = readIn(fields, 'content', () =>
    readEach(blocks, (block): Part => {
      const call = isObject(block) ? placed.get(block) : undefined
      return call === undefined ? readBlock(block) : callPart(call, block as JsonObject)
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

const callPart = ({ id, name, args, wire }: ReadCall, block: JsonObject | undefined): ToolCallPart =>
  freeze({
    type: 'tool_call',
    id,
    name,
    arguments: JSON.stringify(args),
    ...keepResidual(
      format,
      { call: wire, ...(block && { block }) },
      {
        call: wires.callOf(id, name, args) as JsonObject,
        ...(block && { block: wires.toolUse(id, name, args) as JsonObject }),
      },
      block && 'block',
    ),
  })

const readBlock = (block: Json): Part & (ResultPart | ReasoningPart) => {
  if (typeof block === 'string')
    return freeze({ type: 'text', text: block, meta: freeze({ [format]: freeze({ as: 'string' }) }) })
  if (!isObject(block)) return rawPart(block)
  const { type, image_url: image, thinking, reasoning, mimeType } = block
  if (type === 'text' && typeof block['text'] === 'string')
    return text(block['text'], keepResidual(format, block, wires.textBlock(block['text']) as JsonObject))
  if (type === 'thinking' && typeof thinking === 'string') {
    const signature = typeof block['signature'] === 'string' ? block['signature'] : undefined
    return freeze({
      type: 'reasoning',
      text: thinking,
      ...(signature !== undefined && { signature }),
      ...keepResidual(format, block, wires.thinking(thinking, signature) as JsonObject, 'thinking'),
    })
  }
  if (type === 'reasoning' && typeof reasoning === 'string')
    return freeze({
      type: 'reasoning',
      text: reasoning,
      ...keepResidual(format, block, wires.reasoningBlock(reasoning) as JsonObject, 'reasoning'),
    })
  if (type === 'image_url') {
    const url = typeof image === 'string' ? image : isObject(image) ? image['url'] : undefined
    if (typeof url !== 'string') return rawPart(block)
    const source = sourceOf(url)
    const asText = typeof image === 'string'
    const written = wires.imageBlock(source, asText) as JsonObject
    return freeze({ type: 'image', source, ...keepResidual(format, block, written, asText ? 'string' : undefined) })
  }
  if (type === 'file' && (typeof block['data'] === 'string' || typeof block['url'] === 'string'))
    return readFile(block, typeof mimeType === 'string' ? mimeType : undefined)
  return rawPart(block)
}

const readFile = (block: JsonObject, mediaType: string | undefined): Part & ResultPart => {
  const { data, url, metadata } = block
  if (typeof data === 'string' && mediaType === undefined) return rawPart(block)
  const name = isObject(metadata) && typeof metadata['filename'] === 'string' ? metadata['filename'] : undefined
  const source: FilePart['source'] =
    typeof url === 'string'
      ? freeze({ type: 'url', url, ...(mediaType !== undefined && { mediaType }) })
      : freeze({ type: 'base64', data: data as string, mediaType: mediaType as string })
  return freeze({
    type: 'file',
    source,
    ...(name !== undefined && { name }),
    ...keepResidual(
      format,
      block,
      wires.fileBlock(source as Exclude<FilePart['source'], { type: 'block' }>, name) as JsonObject,
    ),
  })
}

const { freeze } = Object
const rawPart = (value: Json): Part & ResultPart => freeze({ type: 'provider', provider: format, raw: value })
const text = (value: string, kept: { readonly meta?: Meta } = {}) =>
  freeze({ type: 'text', text: value, ...kept } as const)
