/**
 * OpenAI Chat Completions messages, as requests carry them and as most tools save them.
 *
 * Source  OpenAI API reference, Chat Completions (2026-11)
 */
import { left, right, type Either } from 'fp-ts/lib/Either.js'
import type { Json, JsonObject, Path } from '../json/index.ts'
import type { CodecFault } from './codec-fault.ts'
import type { Message, Meta, Part, ResultPart, Role, ToolCallPart } from './message.ts'
import { arrayAt, fieldsBeside, isObject, objectAt, stringAt, Unexpected } from './wire.ts'

const format = 'openai-chat'

/** Decode an array of chat messages. Fields without a word in the model are kept in `meta['openai-chat']`. */
export const decodeChatMessages = (wire: readonly unknown[], path: Path = []): Either<CodecFault, readonly Message[]> => {
  try {
    return right(wire.map((message, index) => chatMessage(message, [...path, index])))
  } catch (error) {
    if (error instanceof Unexpected)
      return left({ _tag: 'UnexpectedWire', format, path: error.path, expected: error.expected, found: error.found })
    throw error
  }
}

/** Whether a value looks like a chat message: an object with a role of the format. */
export const isChatMessage = (value: unknown): boolean =>
  isObject(value) && typeof value['role'] === 'string' && wireRoles.has(value['role'])

const wireRoles: ReadonlyMap<string, Role> = new Map([
  ['system', 'system'],
  ['developer', 'developer'],
  ['user', 'user'],
  ['assistant', 'assistant'],
  ['tool', 'tool'],
])

/** Whether a message has content blocks that chat messages never have: Anthropic's, or pi's. */
export const hasOwnBlocks = (value: unknown): boolean => {
  const content = isObject(value) ? value['content'] : undefined
  return Array.isArray(content) && content.some((block) => isObject(block) && ['tool_use', 'tool_result', 'toolCall'].includes(String(block['type'])))
}

const chatMessage = (wire: unknown, path: Path): Message => {
  const given = objectAt(wire, path)
  const role = wireRoles.get(stringAt(given['role'], [...path, 'role']))
  if (role === undefined) throw new Unexpected([...path, 'role'], `one of ${[...wireRoles.keys()].join(', ')}`, given['role'])
  const parts = contentParts(given['content'], [...path, 'content'])
  const content: readonly Part[] =
    role === 'tool'
      ? [
          {
            type: 'tool_result',
            callId: stringAt(given['tool_call_id'], [...path, 'tool_call_id']),
            content: parts,
            ...(typeof given['name'] === 'string' && { name: given['name'] }),
          },
        ]
      : [...parts, ...refusal(given['refusal']), ...toolCalls(given['tool_calls'], [...path, 'tool_calls'])]
  const known = ['role', 'content', ...(role === 'tool' ? ['tool_call_id'] : ['tool_calls'])]
  if (typeof given['name'] === 'string') known.push('name')
  if (role !== 'tool' && (typeof given['refusal'] === 'string' || given['refusal'] === null)) known.push('refusal')
  return {
    role,
    content,
    ...(role !== 'tool' && typeof given['name'] === 'string' && { name: given['name'] }),
    ...metaOf(fieldsBeside(given, known)),
  }
}

const contentParts = (content: Json | undefined, path: Path): readonly ResultPart[] => {
  if (content === undefined || content === null) return []
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  if (!Array.isArray(content)) throw new Unexpected(path, 'a string, null or an array of parts', content)
  return (content as readonly Json[]).map((part, index) => contentPart(part, [...path, index]))
}

const contentPart = (wire: Json, path: Path): ResultPart => {
  const part = objectAt(wire, path)
  const type = stringAt(part['type'], [...path, 'type'])
  if (type === 'text')
    return { type: 'text', text: stringAt(part['text'], [...path, 'text']), ...metaOf(fieldsBeside(part, ['type', 'text'])) }
  const image = part['image_url']
  if (type === 'image_url' && isObject(image) && typeof image['url'] === 'string')
    return {
      type: 'image',
      source: { type: 'url', url: image['url'] },
      ...metaOf(both(fieldsBeside(image, ['url']), 'part', fieldsBeside(part, ['type', 'image_url']))),
    }
  return { type: 'provider', provider: format, raw: part }
}

const refusal = (wire: Json | undefined): readonly Part[] =>
  typeof wire === 'string' ? [{ type: 'refusal', text: wire }] : []

const toolCalls = (wire: Json | undefined, path: Path): readonly Part[] =>
  wire === undefined || wire === null ? [] : arrayAt(wire, path).map((call, index) => toolCall(call, [...path, index]))

const toolCall = (wire: Json, path: Path): ToolCallPart => {
  const call = objectAt(wire, path)
  const called = objectAt(call['function'], [...path, 'function'])
  return {
    type: 'tool_call',
    id: stringAt(call['id'], [...path, 'id']),
    name: stringAt(called['name'], [...path, 'function', 'name']),
    arguments: stringAt(called['arguments'], [...path, 'function', 'arguments']),
    ...metaOf(both(fieldsBeside(call, ['id', 'function', ...(call['type'] === 'function' ? ['type'] : [])]), 'function', fieldsBeside(called, ['name', 'arguments']))),
  }
}

/** Two sets of fields, the second under a name of its own. */
const both = (fields: JsonObject | undefined, name: string, inner: JsonObject | undefined): JsonObject | undefined =>
  inner === undefined ? fields : { ...fields, [name]: inner }

const metaOf = (others: JsonObject | undefined): { readonly meta?: Meta } =>
  others === undefined ? {} : { meta: { [format]: others } }
