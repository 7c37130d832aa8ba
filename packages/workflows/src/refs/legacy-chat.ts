/**
 * Arrays of chat messages, the form in which histories were saved before refs: OpenAI's wire
 * format, or its camel-case form with every field written out, as Go programs save it.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import {
  isLeft,
  isObject,
  type Json,
  type JsonObject,
  left,
  readEach,
  right,
  Unexpected,
} from 'indelible/internal/json'
import { codecs, type CodecFault, type Decoded } from 'indelible/codecs'
import { type Message } from 'indelible/message'
import { marksByPurpose } from './purposes.ts'
import { looksLikeKeyedRef } from './saved-refs.ts'

/** Why a list is not one of messages: the path, and what was expected there. */
type ChatProblem = Pick<Unexpected, 'path' | 'expected' | 'found'>

/** Decodes as OpenAI chat. Fields of the camel-case form only, and fields unknown to the codec, go to `meta`. */
export const readLegacyChat = (list: readonly Json[]): Either<ChatProblem, Decoded> => {
  let wire: readonly Json[]
  try {
    wire = readEach(list, wireOf)
  } catch (error) {
    if (error instanceof Unexpected) return left(error)
    throw error
  }
  const decoded = codecs['openai-chat'].decode(wire)
  if (isLeft(decoded)) return left(decoded.left as Extract<CodecFault, ChatProblem>) // a list of JSON has no other fault
  const messages = decoded.right.messages.map((message, position) =>
    keepOtherFields(message, list[position] as JsonObject),
  ) // the codec takes objects only
  return right({ messages, losses: decoded.right.losses })
}

/** The fields that carry a message's content. A value with none of them is not a message we can read. */
const contentFields = [
  'content',
  'tool_calls',
  'toolCalls',
  'function_call',
  'refusal',
  'audio',
  'reasoning_content',
  'reasoning',
]

/**
 * One message in OpenAI's wire format. Fields of the camel-case form are renamed, or dropped if
 * they are empty, null or false. Everything else is unchanged. Throws Unexpected.
 */
const wireOf = (item: Json): Json => {
  if (!isObject(item)) return item
  if (looksLikeKeyedRef(item)) throw new Unexpected([], 'a message, because the first item of the list is one', item)
  if (!contentFields.some((field) => field in item)) throw new Unexpected([], 'a message, with content or calls', item)
  if (!isCamelCase(item)) return item
  const { toolCalls, toolCallId, isError, cacheControl, contextType, ...wire } = item as Fields
  const calls = callsOf(toolCalls, wire['tool_calls'], wire['role'] !== 'tool' && wire['role'] !== 'function')
  const answered = answeredCallId(toolCallId, wire['tool_call_id'])
  if (calls !== undefined) wire['tool_calls'] = calls
  if (answered !== undefined) wire['tool_call_id'] = answered
  if (isSilent(wire['name'])) delete wire['name']
  if (wire['role'] === 'tool') wire['content'] ??= ''
  else if (calls !== undefined && wire['content'] === '') wire['content'] = null
  // Misplaced or invalid values are left for the codec to keep.
  if (!isSilent(isError) && (isError !== true || wire['role'] !== 'tool')) wire['isError'] = isError
  if (!isSilent(cacheControl) && typeof cacheControl !== 'string') wire['cacheControl'] = cacheControl
  if (!isSilent(contextType) && typeof contextType !== 'string') wire['contextType'] = contextType
  return wire
}

type Fields = { [field: string]: Json }

const isCamelCase = (item: JsonObject): boolean =>
  ['toolCalls', 'toolCallId', 'isError', 'cacheControl', 'contextType'].some((field) => field in item)

/**
 * `called`: whether the calls become parts, whose signatures `keepOtherFields` adds. A tool message keeps them as they are.
 */
const callsOf = (calls: Json | undefined, others: Json | undefined, called: boolean): Json | undefined => {
  if (calls === undefined || calls === null) return undefined
  if (!Array.isArray(calls)) throw new Unexpected(['toolCalls'], 'an array of calls', calls)
  if (calls.length === 0) return undefined
  if (others !== undefined && others !== null && !(Array.isArray(others) && others.length === 0))
    throw new Unexpected(['toolCalls'], 'absent or empty if tool_calls is present', calls)
  return called ? (calls as readonly Json[]).map(callOf) : calls
}

/** A call with `function` is already in OpenAI's format. */
const callOf = (call: Json): Json => {
  if (!isObject(call) || 'function' in call) return call
  const { id, name, arguments: text, signature, ...rest } = call as Fields
  return {
    type: 'function',
    ...rest,
    ...(!isSilent(signature) && typeof signature !== 'string' && { signature }),
    id: id ?? null,
    function: { name: name ?? null, arguments: text ?? '' },
  }
}

/** The id of the answered call. An empty id gives way to another one. */
const answeredCallId = (id: Json | undefined, other: Json | undefined): Json | undefined => {
  if (id === undefined || id === null || id === other) return undefined
  if (typeof id !== 'string') throw new Unexpected(['toolCallId'], 'a string', id)
  if (other === undefined || other === null || other === '') return id
  if (id === '') return undefined
  throw new Unexpected(['toolCallId'], 'the same as tool_call_id', id)
}

const isNonEmptyText = (value: Json | undefined): value is string => typeof value === 'string' && value !== ''

/** Go also writes fields that are empty. */
const isSilent = (value: Json | undefined): value is undefined | null | '' | false =>
  value === undefined || value === null || value === '' || value === false

const keepOtherFields = (message: Message, item: JsonObject): Message => {
  if (!isCamelCase(item)) return message
  const { isError, cacheControl, contextType, toolCalls, function_call } = item as Fields
  const mark = typeof contextType === 'string' ? marksByPurpose.get(contextType) : undefined
  const kept = {
    ...(isNonEmptyText(cacheControl) && { cacheControl }),
    ...(isNonEmptyText(contextType) && { contextType }),
  }
  const calls = Array.isArray(toolCalls) ? (toolCalls as readonly Json[]) : []
  const first = message.content.length - calls.length - (isObject(function_call) ? 1 : 0) // the codec puts calls last
  const content = message.content.map((part, index) => {
    if (part.type === 'tool_result') return isError === true ? { ...part, isError } : part
    const call = calls[index - first]
    const signature = isObject(call) && !('function' in call) ? call['signature'] : undefined
    return isNonEmptyText(signature) ? { ...part, meta: { ...part.meta, llm2: { signature } } } : part
  })
  if (Object.keys(kept).length === 0) return { ...message, content }
  return {
    ...message,
    content,
    meta: { ...message.meta, llm2: kept, ...(mark !== undefined && { indelible: { mark } }) },
  }
}
