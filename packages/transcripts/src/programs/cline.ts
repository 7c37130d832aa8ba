/**
 * A task of Cline, Roo Code or Kilo Code, `api_conversation_history.json`, which is a list of messages; or a session of Cline 3,
 * `ID.messages.json`, which has the list with the session's id and prompt. The messages are Anthropic's.
 *
 * Source  cline/cline, src/core/storage/disk.ts (2026-10); files of version 3.0.65
 */
import { fieldsBeside, isObject, type Json, type JsonObject, type Path } from 'indelible/internal/json'
import { decodeRecorded } from 'indelible/internal/codecs'
import type { Message } from 'indelible/message'
import { conversation } from '../format/conversation-of-value.ts'
import { countsIn } from '../format/format-facts.ts'
import type { Conversation, ValueFormat } from '../format/found-conversation.ts'
import { count, isoOf, objectIn, OriginDraft, textIn } from '../format/origin.ts'
import { withOtherFields } from '../format/other-fields.ts'
import { messagesIn } from '../format/read-problems.ts'

const isMessage = (value: unknown): value is JsonObject =>
  isObject(value) &&
  (value['role'] === 'user' || value['role'] === 'assistant') &&
  (typeof value['content'] === 'string' || Array.isArray(value['content'])) &&
  (value['ts'] === undefined || typeof value['ts'] === 'number')

const isTimed = (list: unknown): list is readonly JsonObject[] =>
  Array.isArray(list) && list.every(isMessage) && list.some((message) => 'ts' in message)

const isSession = (value: unknown): value is JsonObject & { readonly messages: readonly JsonObject[] } =>
  isObject(value) &&
  typeof value['sessionId'] === 'string' &&
  ['agent', 'system_prompt'].some((field) => typeof value[field] === 'string') &&
  Array.isArray(value['messages']) &&
  (value['messages'].length === 0 || isTimed(value['messages']))

export const cline: ValueFormat = {
  format: 'cline',
  signatures: [
    ['role', 'content', 'ts'],
    ['sessionId', 'messages', 'system_prompt', 'agent'],
  ],
  times: [['time']],
  countsOf: countsIn('cline', (own) => {
    const metrics = objectIn(own, 'metrics')
    const { inputTokens: input, cacheReadTokens, cacheWriteTokens, outputTokens } = metrics
    const { id: model, modelId = model } = objectIn(own, 'modelInfo')
    const { prompt, completion, cached } = objectIn(metrics, 'tokens')
    if (prompt !== undefined)
      return { model: modelId, fresh: prompt, cacheRead: cached, cacheWrite: 0, output: completion }
    // Cached tokens are counted in the input.
    const fresh =
      typeof input === 'number' ? Math.max(0, input - count(cacheReadTokens) - count(cacheWriteTokens)) : undefined
    return { model: modelId, fresh, cacheRead: cacheReadTokens, cacheWrite: cacheWriteTokens, output: outputTokens }
  }),
  conversations: (value) => (isTimed(value) ? [task(value)] : isSession(value) ? [session(value)] : undefined),
}

const session = (value: JsonObject & { readonly messages: readonly JsonObject[] }): Conversation => {
  const { origin, ...read } = task(value.messages, ['messages'])
  origin.id = textIn(value, 'sessionId')
  origin.version = textIn(objectIn(value, 'origin'), 'version')
  origin.metadata = fieldsBeside(value, ['messages', 'sessionId']) ?? {}
  return { ...read, origin }
}

const task = (list: readonly JsonObject[], at: Path = []): Conversation => {
  const origin = new OriginDraft()
  for (const { ts } of list) origin.time(isoOf(ts))
  return conversation(cline, origin, at, list, messagesOf)
}

const messagesOf = (message: JsonObject, path: Path): readonly Message[] => {
  const { role = null, content = null, ts } = message
  const decoded = decodeRecorded([{ role, content: blocksOf(content) }])
  const beside = { ...fieldsBeside(message, ['role', 'content', 'ts']), ...(typeof ts === 'number' && { time: ts }) }
  return messagesIn(decoded, path, message, 'a message of Anthropic').map((each) =>
    withOtherFields(each, 'cline', beside),
  )
}

/** Blocks as Anthropic has them. Cline 3's results hold what its tools returned, which the model is sent as JSON. */
const blocksOf = (content: Json): Json =>
  !Array.isArray(content)
    ? content
    : content.map((block: Json) => {
        const own = isObject(block) && block['type'] === 'tool_result' ? block['content'] : undefined
        const isAnthropic =
          own === undefined ||
          typeof own === 'string' ||
          (Array.isArray(own) && own.every((part) => isObject(part) && typeof part['type'] === 'string'))
        return isAnthropic ? block : { ...(block as JsonObject), content: JSON.stringify(own) }
      })
