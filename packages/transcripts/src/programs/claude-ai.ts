/**
 * The chats of an export of Claude.ai.
 *
 * Source  support.claude.com and observed exports (2026-10)
 */
import { fieldsBeside, isObject, type Json, type JsonObject } from 'indelible/internal/json'
import type { Message, Part, ResultPart } from 'indelible/message'
import { blockReader } from '../format/blocks.ts'
import { conversation, oneOrList } from '../format/conversation-of-value.ts'
import type { Conversation, ValueFormat } from '../format/found-conversation.ts'
import { resultMessage, textPart } from '../format/entry-lines.ts'
import { OriginDraft, textIn } from '../format/origin.ts'
import { withOtherFields } from '../format/other-fields.ts'

const isChat = (value: unknown): value is JsonObject =>
  isObject(value) && Array.isArray(value['chat_messages']) && typeof value['uuid'] === 'string'

export const claudeAi: ValueFormat = {
  format: 'claude-ai',
  signatures: [['uuid', 'name', 'chat_messages']],
  conversations: (value) => oneOrList(value, isChat, chat),
}

const chat = (value: JsonObject): Conversation => {
  const origin = new OriginDraft()
  origin.id = textIn(value, 'uuid')
  origin.title = textIn(value, 'name')
  origin.time(value['created_at'])
  origin.time(value['updated_at'])
  origin.model(value['model'])
  origin.metadata = fieldsBeside(value, ['chat_messages', 'uuid', 'name']) ?? {}
  return conversation(claudeAi, origin, ['chat_messages'], value['chat_messages'] as readonly Json[], claudeAiMessages)
}

const readBlock = blockReader('claude-ai', {
  text: ['text', 'text'],
  thinking: ['reasoning', 'thinking'],
  tool_use: ['call', 'id', 'name', 'input'],
})

const isWhole = ({ type, id, name, text, thinking }: JsonObject): boolean =>
  type === 'tool_use' ? [id, name].every((value) => typeof value === 'string') : typeof (text ?? thinking) === 'string'

const claudeAiMessages = (message: JsonObject): readonly Message[] => {
  const blocks = Array.isArray(message['content']) ? (message['content'] as readonly Json[]) : []
  const content: Part[] = []
  const results: Message[] = []
  for (const block of blocks) {
    if (!isObject(block)) continue
    const { type } = block
    const id = textIn(block, 'tool_use_id')
    if (type === 'tool_result' && id !== undefined)
      results.push(
        resultMessage(id, resultParts(block['content']), {
          name: textIn(block, 'name'),
          isError: block['is_error'] === true,
        }),
      )
    else content.push(isWhole(block) ? readBlock(block, []) : { type: 'provider', provider: 'claude-ai', raw: block })
  }
  const text = textIn(message, 'text')
  if (blocks.length === 0 && text !== undefined && text !== '') content.push(textPart(text))
  for (const attachment of Array.isArray(message['attachments']) ? (message['attachments'] as readonly Json[]) : []) {
    const words = isObject(attachment) ? textIn(attachment, 'extracted_content') : undefined
    if (words !== undefined) content.push(textPart(words))
  }
  const beside = {
    ...fieldsBeside(message, ['content', 'text', 'uuid', 'created_at']),
    timestamp: message['created_at'] ?? null,
  }
  const id = textIn(message, 'uuid')
  const own: Message = {
    role: message['sender'] === 'assistant' ? 'assistant' : 'user',
    content: content as ResultPart[],
    ...(id !== undefined && { id }),
  }
  return [...(content.length === 0 ? [] : [own]), ...results].map((message) =>
    withOtherFields(message, 'claude-ai', beside),
  )
}

const resultParts = (content: Json | undefined): readonly ResultPart[] => {
  if (typeof content === 'string') return [textPart(content)]
  return (Array.isArray(content) ? (content as readonly Json[]) : []).map((part): ResultPart =>
    isObject(part) && typeof part['text'] === 'string'
      ? textPart(part['text'])
      : { type: 'provider', provider: 'claude-ai', raw: part },
  )
}
