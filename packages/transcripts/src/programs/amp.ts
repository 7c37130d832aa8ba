/**
 * A thread of Amp.
 *
 * Source  public readers of its threads (2026-09)
 */
import {
  arrayAt,
  difference,
  fieldsBeside,
  isObject,
  objectAt,
  ownField,
  stringAt,
  type Json,
  type JsonObject,
} from 'indelible/internal/json'
import type { Message, Part, ResultPart } from 'indelible/message'
import { conversation, oneOrList } from '../format/conversation-of-value.ts'
import { pickFields, withOtherFields } from '../format/other-fields.ts'
import { countsIn } from '../format/format-facts.ts'
import type { Conversation, ValueFormat } from '../format/found-conversation.ts'
import { blockReader } from '../format/blocks.ts'
import { resultMessage, textPart } from '../format/entry-lines.ts'
import { isoOf, objectIn, OriginDraft, textIn } from '../format/origin.ts'

const isThread = (value: unknown): value is JsonObject =>
  isObject(value) &&
  typeof value['v'] === 'number' &&
  typeof value['id'] === 'string' &&
  Array.isArray(value['messages']) &&
  value['id'].startsWith('T-')

export const amp: ValueFormat = {
  format: 'amp',
  signatures: [['v', 'id', 'messages']],
  countsOf: countsIn('amp', (own) => {
    const used = objectIn(own, 'usage')
    return {
      model: used['model'],
      fresh: used['inputTokens'],
      cacheRead: used['cacheReadInputTokens'],
      cacheWrite: used['cacheCreationInputTokens'],
      output: used['outputTokens'],
    }
  }),
  conversations: (value) => oneOrList(value, isThread, thread),
}

const readBlock = blockReader('amp', {
  text: ['text', 'text'],
  thinking: ['reasoning', 'thinking', 'signature'],
  tool_use: ['call', 'id', 'name', 'input'],
})

const thread = (value: JsonObject): Conversation => {
  const origin = new OriginDraft()
  origin.id = textIn(value, 'id')
  origin.title = textIn(value, 'title')
  origin.time(isoOf(value['created']))
  origin.metadata = fieldsBeside(value, ['messages', 'id', 'title']) ?? {}
  return conversation(amp, origin, ['messages'], value['messages'] as readonly Json[], ampMessages)
}

const ampMessages = (message: JsonObject, path: readonly (string | number)[]): readonly Message[] => {
  const content: Part[] = []
  const results: Message[] = []
  arrayAt(message['content'], [...path, 'content']).forEach((item, index) => {
    const at = [...path, 'content', index]
    const block = objectAt(item, at)
    switch (block['type']) {
      case 'tool_result': {
        const { result, status, error } = objectIn(block, 'run')
        const output = result ?? error ?? block['content'] ?? null
        const text = typeof output === 'string' ? output : JSON.stringify(output)
        const answer = resultMessage(
          stringAt(block['toolUseID'] ?? block['tool_use_id'], [...at, 'toolUseID']),
          [textPart(text)],
          {
            isError: status === 'error' || status === 'cancelled',
          },
        )
        const run = pickFields(objectIn(block, 'run'), result !== undefined ? ['result'] : ['error'])
        return results.push(
          withOtherFields(answer, 'amp', {
            block: difference(block, { ...pickFields(block, ['type', 'toolUseID', 'tool_use_id']), run }) ?? {},
          }),
        )
      }
      default:
        return content.push(readBlock(block, at))
    }
  })
  const beside = fieldsBeside(message, ['role', 'content']) ?? {}
  const own: Message = {
    role: message['role'] === 'assistant' ? 'assistant' : 'user',
    content: content as ResultPart[],
  }
  return [...results, ...(content.length === 0 ? [] : [own])].map((message) =>
    withOtherFields(message, 'amp', {
      ...(ownField(ownField(message, 'meta') ?? {}, 'amp') as JsonObject | undefined),
      ...beside,
    }),
  )
}
