/**
 * The chats of an export of ChatGPT: a tree of messages each.
 *
 * Source  help.openai.com and observed exports (2026-10)
 */
import { fieldsBeside, isObject, type Json, type JsonObject } from 'indelible/internal/json'
import type { Message, Part, ResultPart } from 'indelible/message'
import { conversation, oneOrList } from '../format/conversation-of-value.ts'
import type { Conversation, ValueFormat } from '../format/found-conversation.ts'
import { textPart } from '../format/entry-lines.ts'
import { isoOf, millisecondsOf, objectIn, OriginDraft, textIn } from '../format/origin.ts'
import { withOtherFields } from '../format/other-fields.ts'

const isChat = (value: unknown): value is JsonObject =>
  isObject(value) && isObject(value['mapping']) && ('current_node' in value || 'create_time' in value)

export const chatGpt: ValueFormat = {
  format: 'chatgpt',
  signatures: [['mapping', 'current_node', 'title']],
  conversations: (value) => oneOrList(value, isChat, chat),
}

/** The path to the current node; without one, to the last node that has no children. */
const chat = (value: JsonObject): Conversation => {
  const origin = new OriginDraft()
  origin.id = textIn(value, 'conversation_id') ?? textIn(value, 'id')
  origin.title = textIn(value, 'title')
  origin.time(isoOf(millisecondsOf(value['create_time'])))
  origin.metadata = fieldsBeside(value, ['mapping', 'title', 'conversation_id', 'id']) ?? {}
  const mapping = objectIn(value, 'mapping')
  // Nodes name each other in both directions.
  const parents = new Map<Json, string>()
  for (const [id, node] of Object.entries(mapping))
    for (const child of isObject(node) && Array.isArray(node['children']) ? (node['children'] as readonly Json[]) : [])
      parents.set(child, id)
  const path: JsonObject[] = []
  const seen = new Set<string>()
  const leaf = Object.entries(mapping).findLast(
    ([, node]) => isObject(node) && ((node['children'] ?? []) as readonly Json[]).length === 0,
  )
  for (let id = textIn(value, 'current_node') ?? leaf?.[0]; id !== undefined && !seen.has(id);) {
    seen.add(id)
    const node = objectIn(mapping, id)
    path.push(node)
    id = textIn(node, 'parent') ?? parents.get(id)
  }
  path.reverse()
  const others = Object.entries(mapping).filter(
    ([id, node]) => isObject(node) && isObject(node['message']) && !seen.has(id),
  ).length
  if (others > 0) origin.aside('item of another branch', others)
  for (const { message } of path) if (isObject(message)) origin.model(objectIn(message, 'metadata')['model_slug'])
  const messages = path.flatMap(({ message }) => (isObject(message) ? [message] : []))
  return conversation(chatGpt, origin, ['mapping'], messages, chatGptMessages)
}

const chatGptMessages = (message: JsonObject): readonly Message[] => {
  const content = objectIn(message, 'content')
  const role = textIn(objectIn(message, 'author'), 'role')
  const parts = chatGptParts(content)
  const time = isoOf(millisecondsOf(message['create_time']))
  const beside = {
    ...fieldsBeside(message, ['content', 'id']),
    ...(time !== undefined && { timestamp: time }),
    content: fieldsBeside(content, ['parts', 'text', 'thoughts']) ?? {},
  }
  const id = textIn(message, 'id')
  if (parts.length === 0) return []
  // A tool's output answers no call that has an id.
  const entry = {
    role: role === 'assistant' ? 'assistant' : role === 'system' ? 'system' : 'user',
    content: parts as ResultPart[],
    ...(id !== undefined && { id }),
  } as const
  return [withOtherFields(entry, 'chatgpt', beside)]
}

const chatGptParts = (content: JsonObject): readonly Part[] => {
  const { parts, text, thoughts } = content
  if (Array.isArray(thoughts))
    return (thoughts as readonly Json[]).map((thought) => ({
      type: 'reasoning',
      text: isObject(thought) ? (textIn(thought, 'content') ?? textIn(thought, 'summary') ?? '') : String(thought),
    }))
  if (typeof text === 'string') return text === '' ? [] : [textPart(text)]
  return (Array.isArray(parts) ? (parts as readonly Json[]) : []).flatMap((part): readonly Part[] => {
    if (typeof part === 'string') return part === '' ? [] : [textPart(part)]
    return [{ type: 'provider', provider: 'chatgpt', raw: part }]
  })
}
