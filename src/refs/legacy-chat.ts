/**
 * Arrays of chat messages, as histories were saved before they were refs: OpenAI's wire, or the same in camel case with
 * every field written out, as Go programs save it.
 */
import { isLeft, right, type Either } from 'fp-ts/lib/Either.js'
import { isObject, type Json, type JsonObject } from '../json/index.ts'
import type { CodecFault, Decoded, Message } from '../message/index.ts'
import { codecs } from '../message/index.ts'

/** Read them by the codec of OpenAI chat. What only the camel-case form says is kept in `meta`. */
export const readLegacyChat = (list: readonly Json[]): Either<CodecFault, Decoded> => {
  const decoded = codecs['openai-chat'].decode(list.map((item) => (isObject(item) && isCamelCase(item) ? wireOf(item) : item)))
  if (isLeft(decoded)) return decoded
  const messages = decoded.right.messages.map((message, position) => {
    const item = list[position]
    return isObject(item) && isCamelCase(item) ? withRest(message, item) : message
  })
  return right({ messages, losses: decoded.right.losses })
}

const isCamelCase = (item: JsonObject): boolean => ['toolCalls', 'toolCallId', 'isError', 'cacheControl', 'contextType'].some((field) => field in item)

/** One message in OpenAI's words. Fields that say nothing (empty, null, false) are left out. */
const wireOf = (item: JsonObject): Json => {
  const { role, content, name, toolCalls, toolCallId } = item as { readonly [field: string]: Json }
  const calls = Array.isArray(toolCalls) ? (toolCalls as readonly Json[]) : []
  if (role === 'tool') return { role, content: content ?? '', tool_call_id: toolCallId ?? '', ...(isSaid(name) && { name }) }
  return {
    role: role ?? null,
    content: calls.length > 0 && content === '' ? null : (content ?? null),
    ...(isSaid(name) && { name }),
    ...(calls.length > 0 && { tool_calls: calls.map(callOf) }),
  }
}

const callOf = (call: Json): Json => {
  if (!isObject(call)) return call
  const { id, name, arguments: text } = call as { readonly [field: string]: Json }
  return { type: 'function', id: id ?? null, function: { name: name ?? null, arguments: text ?? '' } }
}

const isSaid = (value: Json | undefined): value is string => typeof value === 'string' && value !== ''

const withRest = (message: Message, item: JsonObject): Message => {
  const { isError, cacheControl, contextType } = item as { readonly [field: string]: Json }
  const mark = typeof contextType === 'string' ? marks.get(contextType) : undefined
  const kept = { ...(isSaid(cacheControl) && { cacheControl }), ...(isSaid(contextType) && { contextType }) }
  const signed = Array.isArray(item['toolCalls']) ? (item['toolCalls'] as readonly Json[]).map((call) => (isObject(call) ? call['signature'] : undefined)) : []
  let call = 0
  const content = message.content.map((part) => {
    if (part.type === 'tool_result') return isError === true ? { ...part, isError } : part
    const signature = part.type === 'tool_call' ? signed[call++] : undefined
    return part.type === 'tool_call' && isSaid(signature) ? { ...part, meta: { ...part.meta, llm2: { signature } } } : part
  })
  if (Object.keys(kept).length === 0) return { ...message, content }
  return { ...message, content, meta: { ...message.meta, llm2: kept, ...(mark !== undefined && { indelible: { mark } }) } }
}

/** What a message was there for, as the marks that `manageHistory` knows. */
export const marks: ReadonlyMap<string, string> = new Map([
  ['UserFeedback', 'feedback'],
  ['TestResult', 'test_result'],
  ['SelfReviewFeedback', 'self_review'], // its name until it was the next
  ['AutoReviewFeedback', 'self_review'],
  ['Summary', 'summary'],
])
