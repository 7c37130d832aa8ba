/**
 * A task of Cline, Roo Code or Kilo Code: `api_conversation_history.json`.
 *
 * Source  cline/cline, src/core/storage/disk.ts (2026-10)
 */
import { fieldsBeside, isLeft, isObject, Unexpected, type Json, type JsonObject } from 'indelible/internal/json'
import { codecFaultText, decodeRecorded } from 'indelible/internal/codecs'
import { conversation, isoOf } from './conversation-of-value.ts'
import { countsIn } from './format-facts.ts'
import type { Conversation, ValueFormat } from './found-conversation.ts'
import { objectIn, OriginDraft } from './origin.ts'
import { withOtherFields } from './other-fields.ts'

const isMessage = (value: unknown): value is JsonObject =>
  isObject(value) &&
  (value['role'] === 'user' || value['role'] === 'assistant') &&
  (typeof value['content'] === 'string' || Array.isArray(value['content'])) &&
  (value['ts'] === undefined || typeof value['ts'] === 'number')

export const cline: ValueFormat = {
  format: 'cline',
  signatures: [['role', 'content', 'ts']],
  times: [['time']],
  countsOf: countsIn('cline', (own) => {
    const { prompt, completion, cached } = objectIn(objectIn(own, 'metrics'), 'tokens')
    const model = objectIn(own, 'modelInfo')['modelId']
    return { model, fresh: prompt, cacheRead: cached, cacheWrite: 0, output: completion }
  }),
  conversations: (value) =>
    Array.isArray(value) && value.every(isMessage) && value.some((message) => 'ts' in message)
      ? [task(value)]
      : undefined,
}

const task = (list: readonly JsonObject[]): Conversation => {
  const origin = new OriginDraft()
  for (const message of list) {
    origin.time(typeof message['ts'] === 'number' ? isoOf(message['ts'] / 1000) : undefined)
  }
  return conversation(cline, origin, () =>
    list.flatMap((message, index) => {
      const decoded = decodeRecorded([{ role: message['role'] as Json, content: message['content'] as Json }])
      if (isLeft(decoded))
        throw new Unexpected([index], `a message of Anthropic (${codecFaultText(decoded.left)})`, message)
      const { ts } = message
      const beside = {
        ...fieldsBeside(message, ['role', 'content', 'ts']),
        ...(typeof ts === 'number' && { time: ts }),
      }
      return decoded.right.messages.map((one) => withOtherFields(one, 'cline', beside))
    }),
  )
}
