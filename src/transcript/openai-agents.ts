/**
 * Items of the OpenAI Agents SDK for JavaScript, as its sessions keep them: like those of Responses, with other names.
 *
 * Everything that the assistant says in a row is one message, and each result is a message. An item of a kind without a
 * word here is carried as it is.
 *
 * Source  openai/openai-agents-js, packages/agents-core/src/types/protocol.ts (2026-06)
 */
import type { Either } from 'fp-ts/lib/Either.js'
import {
  admit,
  anObject,
  arrayAt,
  fieldsBeside,
  isLeft,
  isObject,
  type Json,
  type JsonObject,
  left,
  readEach,
  readIn,
  right,
  stringAt,
  Unexpected,
} from '../json/index.ts'
import { sourceOf, type CodecFault, type Decoded } from '../codecs/index.ts'
import type { Message, Meta, Part, ResultPart, Role } from '../message/index.ts'

const format = 'openai-agents'

/** Whether an item is one that only the Agents SDK writes. */
export const isAgentsItem = (item: JsonObject): boolean =>
  typeof item['callId'] === 'string' ||
  item['type'] === 'hosted_tool_call' ||
  ('providerData' in item && typeof item['type'] === 'string') ||
  (item['type'] === 'reasoning' && Array.isArray(item['content']) && !('summary' in item))

/** Decode items: an array. */
export const decodeAgentsItems = (wire: unknown): Either<CodecFault, Decoded> => {
  const admitted = admit(wire)
  if (isLeft(admitted)) return left({ _tag: 'WireNotJson', format, ...admitted.left })
  try {
    const said = new Said()
    readEach(arrayAt(admitted.right.value, []), (item) => readItem(anObject(item), said))
    return right({ messages: said.end(), losses: [] })
  } catch (error) {
    if (!(error instanceof Unexpected)) throw error
    const { path, expected, found } = error
    return left({ _tag: 'UnexpectedWire', format, path, expected, found })
  }
}

/** The messages so far, and what the assistant is just saying. */
class Said {
  readonly #messages: Message[] = []
  #parts: Part[] = []

  say(...parts: readonly Part[]): void {
    this.#parts.push(...parts)
  }

  add(message: Message): void {
    this.end()
    this.#messages.push(message)
  }

  end(): readonly Message[] {
    if (this.#parts.length > 0) this.#messages.push({ role: 'assistant', content: this.#parts })
    this.#parts = []
    return this.#messages
  }
}

/** Calls that the application answers: where what they ask stands, and the name of those that have none. */
const calls: ReadonlyMap<unknown, { readonly asks: string; readonly name?: string }> = new Map([
  ['function_call', { asks: 'arguments' }],
  ['computer_call', { asks: 'action', name: 'computer' }],
  ['shell_call', { asks: 'action', name: 'shell' }],
  ['apply_patch_call', { asks: 'operation', name: 'apply_patch' }],
])

const results: ReadonlySet<unknown> = new Set([
  'function_call_result',
  'computer_call_result',
  'shell_call_output',
  'apply_patch_call_output',
])

const speakers: ReadonlyMap<unknown, Role> = new Map([
  ['system', 'system'],
  ['developer', 'developer'],
  ['user', 'user'],
])

const readItem = (item: JsonObject, said: Said): void => {
  const { type, role } = item
  const asking = calls.get(type)
  if (asking !== undefined && typeof item['callId'] === 'string') return said.say(readCall(item, asking))
  if (results.has(type) && typeof item['callId'] === 'string') return said.add(readResult(item, item['callId']))
  if (type === 'reasoning') return said.say(readReasoning(item))
  if (type !== 'message' && type !== undefined) return said.say(raw(item))
  const parts = readIn(item, 'content', partsOf)
  const speaker = speakers.get(role)
  if (speaker === undefined && role !== 'assistant')
    throw new Unexpected(['role'], 'one of system, developer, user, assistant', role)
  const rest = fieldsBeside(item, ['role', 'content', ...(type === 'message' ? ['type'] : [])])
  if (speaker !== undefined) return said.add({ role: speaker, content: parts, ...metaOf(rest) })
  const [first, ...more] = parts
  if (first === undefined) return said.say(raw(item))
  if (rest === undefined) return said.say(...parts)
  // What the item has beside its content stays with the first of its parts, whose own is one further in.
  const own = first.meta?.[format]
  said.say({ ...first, meta: { [format]: { ...(own !== undefined && { part: own }), item: rest } } }, ...more)
}

const partsOf = (content: Json | undefined): readonly (Part & ResultPart)[] =>
  typeof content === 'string'
    ? [{ type: 'text', text: content }]
    : readEach(arrayAt(content, []), (part) => readPart(anObject(part)))

const readPart = (part: JsonObject): Part & ResultPart => {
  const { type } = part
  if ((type === 'input_text' || type === 'output_text' || type === 'text') && typeof part['text'] === 'string')
    return { type: 'text', text: part['text'], ...metaOf(fieldsBeside(part, ['type', 'text'])) }
  if ((type === 'input_image' || type === 'image') && typeof part['image'] === 'string' && isUrl(part['image']))
    return { type: 'image', source: sourceOf(part['image']), ...metaOf(fieldsBeside(part, ['type', 'image'])) }
  if (type === 'input_file' && typeof part['file'] === 'string' && isUrl(part['file'])) {
    const name = typeof part['filename'] === 'string' ? part['filename'] : undefined
    return {
      type: 'file',
      source: sourceOf(part['file']),
      ...(name !== undefined && { name }),
      ...metaOf(fieldsBeside(part, ['type', 'file', ...(name === undefined ? [] : ['filename'])])),
    }
  }
  return raw(part)
}

const isUrl = (text: string): boolean => /^(?:data|https?):/.test(text)

const readCall = (item: JsonObject, { asks, name }: { readonly asks: string; readonly name?: string }): Part => {
  const field = item[asks] === undefined && Array.isArray(item['actions']) ? 'actions' : asks
  const asked = item[field]
  const args = asks === 'arguments' ? readIn(item, asks, (value) => stringAt(value, [])) : JSON.stringify(asked ?? {})
  return {
    type: 'tool_call',
    id: item['callId'] as string,
    name: name ?? stringAt(item['name'], ['name']),
    arguments: args,
    ...metaOf(fieldsBeside(item, ['callId', field, ...(name === undefined ? ['type', 'name'] : [])])),
  }
}

const readResult = (item: JsonObject, callId: string): Message => {
  const { output, status } = item
  const name = typeof item['name'] === 'string' ? item['name'] : undefined
  const isError = item['type'] === 'apply_patch_call_output' && status === 'failed'
  const known = ['callId', 'output', ...(name === undefined ? [] : ['name'])]
  return {
    role: 'tool',
    content: [
      {
        type: 'tool_result',
        callId,
        content: answerOf(output),
        ...(name !== undefined && { name }),
        ...(isError && { isError }),
        ...metaOf(fieldsBeside(item, known)),
      },
    ],
  }
}

const answerOf = (output: Json | undefined): readonly ResultPart[] => {
  if (output === undefined) return []
  if (typeof output === 'string') return [{ type: 'text', text: output }]
  const list = Array.isArray(output) ? (output as readonly Json[]) : [output]
  return list.map((part) => (isObject(part) ? readPart(part) : raw(part)))
}

/** What the model thought, as it is told: `content` in short, and `rawContent` if the model shows it. */
const readReasoning = (item: JsonObject): Part => {
  const summary = textsIn(item['content'])
  const text = textsIn(item['rawContent'])
  // A list is read whole, or kept whole.
  const known = ['type', ...(summary === undefined ? [] : ['content']), ...(text === undefined ? [] : ['rawContent'])]
  return {
    type: 'reasoning',
    text: (text ?? []).join(''),
    ...(summary !== undefined && summary.length > 0 && { summary }),
    ...metaOf(fieldsBeside(item, known)),
  }
}

const textsIn = (list: Json | undefined): readonly string[] | undefined =>
  Array.isArray(list) && (list as readonly Json[]).every(isPlainText)
    ? (list as readonly { readonly text: string }[]).map(({ text }) => text)
    : undefined

const isPlainText = (part: Json): boolean =>
  isObject(part) &&
  typeof part['text'] === 'string' &&
  (part['type'] === 'input_text' || part['type'] === 'reasoning_text') &&
  Object.keys(part).length === 2

const raw = (value: Json): Part & ResultPart => ({ type: 'provider', provider: format, raw: value })

const metaOf = (others: JsonObject | undefined): { readonly meta?: Meta } =>
  others === undefined ? {} : { meta: { [format]: others } }
