/**
 * Conversations that a program exports or keeps as one JSON value: ChatGPT's and Claude.ai's exports, threads of Amp, task files
 * of Cline, Roo Code and Kilo Code, and rollouts of Codex before August 2025.
 *
 * Source  help.openai.com and observed exports (2026-10); support.claude.com and observed exports (2026-10); public readers of
 *         Amp's threads (2026-09); cline/cline, src/core/storage/disk.ts (2026-10); openai/codex, codex-cli (2025-05)
 */
import type { Either } from 'fp-ts/lib/Either.js'
import {
  arrayAt,
  difference,
  fieldsBeside,
  isLeft,
  isObject,
  objectAt,
  ownField,
  right,
  stringAt,
  Unexpected,
  left,
  type Json,
  type JsonObject,
} from 'indelible/internal/json'
import { codecs, type Decoded, type TranscriptFault } from 'indelible/codecs'
import { codecFaultText, decodeRecorded } from 'indelible/internal/codecs'
import type { Message, Part, ResultPart } from 'indelible/message'
import type { Conversation } from './found-conversation.ts'
import { callPart, resultMessage, textPart, withRest } from './entry-lines.ts'
import { countAnswer } from './call-usage.ts'
import { objectIn, OriginDraft, textIn } from './origin.ts'
import { sourceTimeOf } from './source-time.ts'
import { withOtherFields } from './other-fields.ts'
import type { TranscriptFormat } from './transcript.ts'

/** The conversations of a value in one of these formats; undefined for any other value. */
export const exportedConversations = (value: unknown): readonly Conversation[] | undefined => {
  if (Array.isArray(value) && value.length > 0) {
    const list = value as readonly unknown[]
    if (list.every(isChatGpt)) return list.map(chatGpt)
    if (list.every(isClaudeAi)) return list.map(claudeAi)
    if (list.every(isTaskMessage) && list.some((one) => 'ts' in one)) return [task(list)]
    return undefined
  }
  if (!isObject(value)) return undefined
  if (isChatGpt(value)) return [chatGpt(value)]
  if (isClaudeAi(value)) return [claudeAi(value)]
  if (isAmp(value)) return [amp(value)]
  if (isOldRollout(value)) return [oldRollout(value)]
  return undefined
}

const conversation = (format: TranscriptFormat, origin: OriginDraft, read: () => readonly Message[]): Conversation => ({
  format,
  origin,
  losses: [],
  decode: () => {
    const decoded = decoding(format, read)
    if (!isLeft(decoded))
      for (const [key, message] of decoded.right.messages.entries()) {
        const time = sourceTimeOf(message)
        countAnswer(origin, message, { key, ...(time !== undefined && { time: isoOf(time / 1000) }) })
      }
    return decoded
  },
})

const decoding = (format: TranscriptFormat, read: () => readonly Message[]): Either<TranscriptFault, Decoded> => {
  try {
    return right({ messages: read(), losses: [] })
  } catch (error) {
    if (!(error instanceof Unexpected)) throw error
    const { path, expected, found } = error
    return left({ _tag: 'UnexpectedWire', format, path, expected, found })
  }
}

const pick = (value: JsonObject, fields: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(value).filter(([field]) => fields.includes(field)))

const isoOf = (seconds: Json | undefined): string | undefined =>
  typeof seconds === 'number' && Math.abs(seconds) < 8e12 ? new Date(seconds * 1000).toISOString() : undefined

// ChatGPT

const isChatGpt = (value: unknown): value is JsonObject =>
  isObject(value) && isObject(value['mapping']) && ('current_node' in value || 'create_time' in value)

/** The path to the current node; without one, to the last node that has no children. */
const chatGpt = (value: JsonObject): Conversation => {
  const origin = new OriginDraft()
  origin.id = textIn(value, 'conversation_id') ?? textIn(value, 'id')
  origin.title = textIn(value, 'title')
  origin.time(isoOf(value['create_time']))
  origin.metadata = fieldsBeside(value, ['mapping', 'title', 'conversation_id', 'id']) ?? {}
  const mapping = objectIn(value, 'mapping')
  const path: JsonObject[] = []
  const seen = new Set<string>()
  const leaf = Object.entries(mapping).findLast(
    ([, node]) => isObject(node) && ((node['children'] ?? []) as readonly Json[]).length === 0,
  )
  for (let id = textIn(value, 'current_node') ?? leaf?.[0]; id !== undefined && !seen.has(id);) {
    seen.add(id)
    const node = objectIn(mapping, id)
    path.unshift(node)
    id = textIn(node, 'parent')
  }
  const others = Object.values(mapping).filter(
    (node) => isObject(node) && isObject(node['message']) && !path.includes(node),
  ).length
  if (others > 0) origin.aside('item of another branch', others)
  for (const { message } of path) if (isObject(message)) origin.model(objectIn(message, 'metadata')['model_slug'])
  return conversation('chatgpt', origin, () =>
    path.flatMap(({ message }) => (isObject(message) ? chatGptMessages(message) : [])),
  )
}

const chatGptMessages = (message: JsonObject): readonly Message[] => {
  const content = objectIn(message, 'content')
  const role = textIn(objectIn(message, 'author'), 'role')
  const parts = chatGptParts(content)
  const time = isoOf(message['create_time'])
  const beside = {
    ...fieldsBeside(message, ['content', 'id']),
    ...(time !== undefined && { timestamp: time }),
    content: fieldsBeside(content, ['parts', 'text', 'thoughts']) ?? {},
  }
  const id = textIn(message, 'id')
  if (parts.length === 0) return []
  // A tool's output answers no call that has an id.
  const one = {
    role: role === 'assistant' ? 'assistant' : role === 'system' ? 'system' : 'user',
    content: parts as ResultPart[],
    ...(id !== undefined && { id }),
  } as const
  return [withOtherFields(one, 'chatgpt', beside)]
}

const chatGptParts = (content: JsonObject): readonly Part[] => {
  const { parts, text, thoughts } = content
  if (Array.isArray(thoughts))
    return (thoughts as readonly Json[]).map((one) => ({
      type: 'reasoning',
      text: isObject(one) ? (textIn(one, 'content') ?? textIn(one, 'summary') ?? '') : String(one),
    }))
  if (typeof text === 'string') return text === '' ? [] : [textPart(text)]
  return (Array.isArray(parts) ? (parts as readonly Json[]) : []).flatMap((part): readonly Part[] => {
    if (typeof part === 'string') return part === '' ? [] : [textPart(part)]
    return [{ type: 'provider', provider: 'chatgpt', raw: part }]
  })
}

// Claude.ai

const isClaudeAi = (value: unknown): value is JsonObject =>
  isObject(value) && Array.isArray(value['chat_messages']) && typeof value['uuid'] === 'string'

const claudeAi = (value: JsonObject): Conversation => {
  const origin = new OriginDraft()
  origin.id = textIn(value, 'uuid')
  origin.title = textIn(value, 'name')
  origin.time(value['created_at'])
  origin.time(value['updated_at'])
  origin.model(value['model'])
  origin.metadata = fieldsBeside(value, ['chat_messages', 'uuid', 'name']) ?? {}
  const list = value['chat_messages'] as readonly Json[]
  return conversation('claude-ai', origin, () =>
    list.flatMap((one, index) => claudeAiMessages(objectAt(one, ['chat_messages', index]))),
  )
}

const claudeAiMessages = (message: JsonObject): readonly Message[] => {
  const blocks = Array.isArray(message['content']) ? (message['content'] as readonly Json[]) : []
  const said: Part[] = []
  const results: Message[] = []
  for (const block of blocks) {
    if (!isObject(block)) continue
    const { type } = block
    const id = textIn(block, type === 'tool_result' ? 'tool_use_id' : 'id')
    if (type === 'text' && typeof block['text'] === 'string')
      said.push(withRest('claude-ai', textPart(block['text']), block, pick(block, ['type', 'text'])))
    else if (type === 'thinking' && typeof block['thinking'] === 'string')
      said.push(
        withRest('claude-ai', { type: 'reasoning', text: block['thinking'] }, block, pick(block, ['type', 'thinking'])),
      )
    else if (type === 'tool_use' && id !== undefined)
      said.push(
        withRest(
          'claude-ai',
          callPart(id, textIn(block, 'name') ?? '', block['input']),
          block,
          pick(block, ['type', 'id', 'name', 'input']),
        ),
      )
    else if (type === 'tool_result' && id !== undefined)
      results.push(
        resultMessage(id, resultParts(block['content']), {
          name: textIn(block, 'name'),
          isError: block['is_error'] === true,
        }),
      )
    else said.push({ type: 'provider', provider: 'claude-ai', raw: block })
  }
  const text = textIn(message, 'text')
  if (blocks.length === 0 && text !== undefined && text !== '') said.push(textPart(text))
  for (const attachment of Array.isArray(message['attachments']) ? (message['attachments'] as readonly Json[]) : []) {
    const words = isObject(attachment) ? textIn(attachment, 'extracted_content') : undefined
    if (words !== undefined) said.push(textPart(words))
  }
  const beside = {
    ...fieldsBeside(message, ['content', 'text', 'uuid', 'created_at']),
    timestamp: message['created_at'] ?? null,
  }
  const id = textIn(message, 'uuid')
  const own: Message = {
    role: message['sender'] === 'assistant' ? 'assistant' : 'user',
    content: said as ResultPart[],
    ...(id !== undefined && { id }),
  }
  return [...(said.length === 0 ? [] : [own]), ...results].map((one) => withOtherFields(one, 'claude-ai', beside))
}

const resultParts = (content: Json | undefined): readonly ResultPart[] => {
  if (typeof content === 'string') return [textPart(content)]
  return (Array.isArray(content) ? (content as readonly Json[]) : []).map((part): ResultPart =>
    isObject(part) && typeof part['text'] === 'string'
      ? textPart(part['text'])
      : { type: 'provider', provider: 'claude-ai', raw: part },
  )
}

// Amp

const isAmp = (value: JsonObject): boolean =>
  typeof value['v'] === 'number' &&
  typeof value['id'] === 'string' &&
  Array.isArray(value['messages']) &&
  value['id'].startsWith('T-')

const amp = (value: JsonObject): Conversation => {
  const origin = new OriginDraft()
  origin.id = textIn(value, 'id')
  origin.title = textIn(value, 'title')
  origin.time(typeof value['created'] === 'number' ? isoOf(value['created'] / 1000) : undefined)
  origin.metadata = fieldsBeside(value, ['messages', 'id', 'title']) ?? {}
  const list = value['messages'] as readonly Json[]
  return conversation('amp', origin, () =>
    list.flatMap((one, index) => ampMessages(objectAt(one, ['messages', index]), ['messages', index])),
  )
}

const ampMessages = (message: JsonObject, path: readonly (string | number)[]): readonly Message[] => {
  const said: Part[] = []
  const results: Message[] = []
  arrayAt(message['content'], [...path, 'content']).forEach((item, index) => {
    const at = [...path, 'content', index]
    const block = objectAt(item, at)
    switch (block['type']) {
      case 'text':
        return said.push(
          withRest('amp', textPart(stringAt(block['text'], [...at, 'text'])), block, {
            ...{ type: 'text', text: block['text'] as Json },
          }),
        )
      case 'thinking': {
        const signature = textIn(block, 'signature')
        return said.push(
          withRest(
            'amp',
            {
              type: 'reasoning',
              text: stringAt(block['thinking'], [...at, 'thinking']),
              ...(signature !== undefined && { signature }),
            },
            block,
            { type: 'thinking', thinking: block['thinking'] as Json, ...(signature !== undefined && { signature }) },
          ),
        )
      }
      case 'tool_use':
        return said.push(
          withRest(
            'amp',
            callPart(stringAt(block['id'], [...at, 'id']), stringAt(block['name'], [...at, 'name']), block['input']),
            block,
            { ...pick(block, ['type', 'id', 'name', 'input']) },
          ),
        )
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
        const run = pick(objectIn(block, 'run'), result !== undefined ? ['result'] : ['error'])
        return results.push(
          withOtherFields(answer, 'amp', {
            block: difference(block, { ...pick(block, ['type', 'toolUseID', 'tool_use_id']), run }) ?? {},
          }),
        )
      }
      default:
        return said.push({ type: 'provider', provider: 'amp', raw: block })
    }
  })
  const beside = fieldsBeside(message, ['role', 'content']) ?? {}
  const own: Message = { role: message['role'] === 'assistant' ? 'assistant' : 'user', content: said as ResultPart[] }
  return [...results, ...(said.length === 0 ? [] : [own])].map((one) =>
    withOtherFields(one, 'amp', {
      ...(ownField(ownField(one, 'meta') ?? {}, 'amp') as JsonObject | undefined),
      ...beside,
    }),
  )
}

// Cline, Roo Code, Kilo Code: `api_conversation_history.json`

const isTaskMessage = (value: unknown): value is JsonObject =>
  isObject(value) &&
  (value['role'] === 'user' || value['role'] === 'assistant') &&
  (typeof value['content'] === 'string' || Array.isArray(value['content'])) &&
  (value['ts'] === undefined || typeof value['ts'] === 'number')

const task = (list: readonly JsonObject[]): Conversation => {
  const origin = new OriginDraft()
  for (const message of list) {
    origin.time(typeof message['ts'] === 'number' ? isoOf(message['ts'] / 1000) : undefined)
  }
  return conversation('cline', origin, () =>
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

// Codex' rollouts before August 2025: `{ session, items }`

const isOldRollout = (value: JsonObject): boolean =>
  isObject(value['session']) && typeof value['session']['timestamp'] === 'string' && Array.isArray(value['items'])

const oldRollout = (value: JsonObject): Conversation => {
  const origin = new OriginDraft()
  const session = objectIn(value, 'session')
  origin.time(session['timestamp'])
  origin.describe(session, { id: 'id', started: 'timestamp' })
  const others = fieldsBeside(value, ['session', 'items'])
  if (others !== undefined) origin.metadata = { ...origin.metadata, ...others }
  return { format: 'codex', origin, losses: [], decode: () => codecs['openai-responses'].decode(value['items']) }
}
