/** Conversations that are one JSON value: which format they are in, found by what is in them. */
import { isLeft, left, right, type Either } from 'fp-ts/lib/Either.js'
import { admit, describe, fieldsBeside, isObject, type Json, type JsonObject, type Path } from '../json/index.ts'
import { codecs, isRole, type Codec, type CodecFault, type Decoded } from '../message/index.ts'
import { OriginDraft, count, objectIn, textIn } from './origin.ts'
import * as swe from './swe-agent.ts'
import type { TranscriptFormat } from './transcript.ts'

export interface Conversation {
  readonly format: TranscriptFormat
  readonly decode: () => Either<CodecFault, Decoded>
  readonly origin: OriginDraft
}

/** The conversations in a value. Empty where it is none. */
export const conversationsIn = (value: unknown): readonly Conversation[] => {
  if (Array.isArray(value)) return runsIn(value as readonly unknown[]) ?? one(fromList(value as readonly unknown[], [], undefined))
  if (!isObject(value)) return []
  if (swe.isTrajectory(value)) return [trajectory(value)]
  return choicesIn(value) ?? one(fromBody(value))
}

/** A fault that says what a value is in place of a conversation. */
export const unknownFormat = (value: unknown): CodecFault => ({ _tag: 'UnknownFormat', found: describe(value) })

const one = (conversation: Conversation | undefined): readonly Conversation[] => (conversation === undefined ? [] : [conversation])

/** A tau-bench file: an array of runs, each with its messages in `traj`. */
const runsIn = (list: readonly unknown[]): readonly Conversation[] | undefined => {
  if (list.length === 0 || !list.every((run): run is JsonObject => isObject(run) && Array.isArray(run['traj']))) return undefined
  return list.map((run, index) => ({
    format: 'tau-bench',
    decode: () => within([index, 'traj'], codecs['openai-chat'].decode(run['traj'])),
    origin: draft(fieldsBeside(run, ['traj'])),
  }))
}

const trajectory = (file: JsonObject): Conversation => {
  const origin = draft(swe.metadataOf(file))
  const stats = objectIn(objectIn(file, 'info'), 'model_stats')
  if (count(stats['tokens_sent']) > 0) origin.usage({ input: stats['tokens_sent'], output: stats['tokens_received'], cacheRead: 0, cacheWrite: 0 })
  return {
    format: swe.format,
    decode: () => within(['history'], codecs['openai-chat'].decode((file['history'] as readonly JsonObject[]).flatMap(swe.chatMessages))),
    origin,
  }
}

/** An answer of OpenAI chat: each choice is a conversation of one message. */
const choicesIn = (body: JsonObject): readonly Conversation[] | undefined => {
  const choices = body['choices']
  if (!Array.isArray(choices) || choices.length === 0 || !choices.every((choice): choice is JsonObject => isObject(choice) && isObject(choice['message']))) return undefined
  return choices.map(({ message }, index) => ({
    format: 'openai-chat',
    decode: () => within(['choices', index, 'message'], codecs['openai-chat'].decode([message])),
    origin: draft(fieldsBeside(body, ['choices']), body),
  }))
}

/** The list in a body of a request or an answer. */
const fromBody = (body: JsonObject): Conversation | undefined => {
  const lists = ['messages', 'output', 'input'].flatMap((name) => (Array.isArray(body[name]) ? [[name, body[name] as readonly Json[]] as const] : []))
  // An answer of OpenAI says its input again, mostly empty.
  for (const [name, list] of lists.toSorted(([, a], [, b]) => Number(a.length === 0) - Number(b.length === 0))) {
    const found = fromList(list, [name], body)
    if (found !== undefined) return found
  }
  // An answer of Anthropic is a message itself.
  if (body['type'] !== 'message' || body['role'] !== 'assistant' || !Array.isArray(body['content'])) return isMessage(body) ? fromList([body], [], undefined) : undefined
  return { format: 'anthropic', decode: () => codecs.anthropic.decode(body), origin: draft(fieldsBeside(body, ['content']), body) }
}

const fromList = (list: readonly unknown[], at: Path, body: JsonObject | undefined): Conversation | undefined => {
  const name = formatOf(list, body)
  const codec = (Object.entries(codecs) as readonly (readonly [string, Codec<unknown>])[]).find(([known]) => known === name)?.[1]
  if (name === undefined || codec === undefined) return undefined
  const [field] = at
  if (body === undefined || typeof field !== 'string') return { format: name, decode: () => codec.decode(list), origin: draft() }
  // What says something of the conversation beside the list, and what the codec itself finds in a body.
  const beside = { 'openai-responses': ['instructions'], anthropic: ['system'] }[name as string] ?? []
  const known = [field, ...(field === 'output' ? [] : beside)]
  const own = Object.fromEntries(known.flatMap((key) => (body[key] === undefined ? [] : [[key, body[key]]])))
  return { format: name, decode: () => (beside.length > 0 ? codec.decode(own) : within(at, codec.decode(list))), origin: draft(fieldsBeside(body, known), body) }
}

export type Named = 'openai-chat' | 'openai-responses' | 'anthropic' | 'ai-sdk' | 'ai-sdk-ui'

/** The format that the first message with a sign of one is in. Messages without any are read as those of OpenAI chat. */
const formatOf = (list: readonly unknown[], body: JsonObject | undefined): Named | undefined => {
  if (body !== undefined && 'system' in body) return 'anthropic'
  for (const message of list) {
    if (!isObject(message)) return undefined
    const sign = signOf(message)
    if (sign !== undefined) return sign
  }
  return list.every((message) => isObject(message) && typeof message['role'] === 'string') ? 'openai-chat' : undefined
}

/** Whether a value is like a message: with a role that one can have, and something said. */
export const isMessage = (value: JsonObject): boolean =>
  (isRole(value['role']) || value['role'] === 'function') && ['content', 'parts', 'tool_calls', 'function_call'].some((field) => field in value)

/** The format that a message by itself shows, if it shows one. */
export const signOf = (message: JsonObject): Named | undefined => {
  const { role, type, content } = message
  if (typeof role === 'string' && Array.isArray(message['parts'])) return 'ai-sdk-ui'
  if (typeof role !== 'string') return typeof type === 'string' ? 'openai-responses' : undefined
  if (chatFields.some((field) => field in message) || role === 'function' || (role === 'developer' && type === undefined)) return 'openai-chat'
  if (Array.isArray(content)) for (const part of content as readonly Json[]) if (isObject(part)) for (const [sign, isSign] of signs) if (isSign(part)) return sign
  return type === 'message' ? ('stop_reason' in message ? 'anthropic' : 'openai-responses') : undefined
}

const chatFields = ['tool_calls', 'tool_call_id', 'function_call', 'refusal', 'reasoning_content', 'audio']

const typed = (...types: readonly string[]): ((part: JsonObject) => boolean) => {
  const known: ReadonlySet<unknown> = new Set(types)
  return (part) => known.has(part['type'])
}

/** Parts that only one format has. */
const signs: readonly (readonly [Named, (part: JsonObject) => boolean])[] = [
  ['openai-responses', typed('input_text', 'output_text', 'input_image', 'input_file', 'summary_text', 'reasoning_text')],
  ['openai-chat', (part) => typed('image_url', 'input_audio', 'refusal')(part) || (part['type'] === 'file' && isObject(part['file']))],
  ['ai-sdk', (part) => typed('tool-call', 'tool-result', 'tool-approval-request', 'tool-approval-response', 'reasoning', 'file')(part) || (part['type'] === 'image' && 'image' in part)],
  ['anthropic', (part) => typed('tool_use', 'tool_result', 'thinking', 'redacted_thinking', 'server_tool_use', 'mcp_tool_use', 'document', 'container_upload', 'search_result')(part) || (part['type'] === 'image' && 'source' in part) || String(part['type']).endsWith('_tool_result') || 'cache_control' in part || 'citations' in part],
]

/** What an envelope says of the conversation in it. */
const draft = (metadata: JsonObject = {}, answer: JsonObject = {}): OriginDraft => {
  const origin = new OriginDraft()
  const admitted = admit(metadata)
  if (!isLeft(admitted) && isObject(admitted.right.value)) origin.metadata = admitted.right.value
  origin.id = textIn(answer, 'id')
  origin.model(answer['model'])
  const used = objectIn(answer, 'usage')
  const cached = count(objectIn(used, 'prompt_tokens_details')['cached_tokens']) || count(objectIn(used, 'input_tokens_details')['cached_tokens'])
  const [cacheRead, cacheWrite] = [count(used['cache_read_input_tokens']), count(used['cache_creation_input_tokens'])]
  const input = count(used['prompt_tokens']) || count(used['input_tokens']) + cacheRead + cacheWrite
  if (input > 0) origin.usage({ input, output: count(used['completion_tokens']) || count(used['output_tokens']), cacheRead: cached || cacheRead, cacheWrite })
  return origin
}

/** A fault's path as seen from the whole file. */
const within = (at: Path, decoded: Either<CodecFault, Decoded>): Either<CodecFault, Decoded> => {
  if (!isLeft(decoded)) return right(decoded.right)
  const fault = decoded.left
  return left(fault._tag === 'UnexpectedWire' || fault._tag === 'WireNotJson' ? { ...fault, path: [...at, ...fault.path] } : fault)
}
