/** Conversations in one JSON value. The format is detected from the content. */
import {
  ownField,
  describe,
  fieldsBeside,
  isObject,
  type Json,
  type JsonObject,
  type Path,
} from 'indelible/internal/json'
import { codecs, type TranscriptFault } from 'indelible/codecs'
import { isAgentsItem } from 'indelible/internal/codecs'
import { allCodecs, type AllCodecs } from '@indelible/codecs'
import { isRole } from 'indelible/internal/message'
import { atPath, metadataOf } from '../format/conversation-of-value.ts'
import { nearestText } from './nearest.ts'
import type { Conversation, Misread } from '../format/found-conversation.ts'
import { valueFormats } from '../programs/formats.ts'

/** The conversations in a value; empty if there are none. */
export const conversationsIn = (value: unknown): readonly Conversation[] => {
  for (const { conversations } of valueFormats) {
    const found = conversations(value)
    if (found !== undefined) return found
  }
  if (Array.isArray(value))
    return (
      runsIn(value as readonly unknown[]) ??
      chatsIn(value as readonly unknown[]) ??
      asList(fromList(value as readonly unknown[], [], undefined))
    )
  if (!isObject(value)) return []
  return choicesIn(value) ?? asList(fromBody(value))
}

/** A fault that describes the value found instead of a conversation. */
export const unknownFormat = (value: unknown): TranscriptFault => ({
  _tag: 'UnknownFormat',
  found: `${describe(value)}${nearestText(value)}`,
})

const asList = (conversation: Conversation | undefined): readonly Conversation[] =>
  conversation === undefined ? [] : [conversation]

/** A tau-bench file: an array of runs, each with its messages in `traj`. */
const runsIn = (list: readonly unknown[]): readonly Conversation[] | undefined => {
  if (list.length === 0 || !list.every((run): run is JsonObject => isObject(run) && Array.isArray(run['traj'])))
    return undefined
  return list.map((run, index) => ({
    format: 'tau-bench',
    decode: () => atPath([index, 'traj'], codecs['openai-chat'].decode(run['traj'])),
    ...metadataOf(fieldsBeside(run, ['traj']), {}, [index]),
  }))
}

/** A store of chats: an array of bodies, each with its messages. */
const chatsIn = (list: readonly unknown[]): readonly Conversation[] | undefined => {
  const isChat = (chat: unknown): chat is JsonObject =>
    isObject(chat) && Array.isArray(chat['messages']) && chat['role'] === undefined
  if (list.length === 0 || !list.every(isChat)) return undefined
  const found = list.map((chat, index) => chatAt(chat, index))
  return found.every((chat) => chat !== undefined) ? found : undefined
}

const chatAt = (chat: JsonObject, index: number): Conversation | undefined => {
  const read = fromBody(chat)
  return (
    read && {
      ...read,
      decode: () => atPath([index], read.decode()),
      losses: read.losses.map(({ path, reason }) => ({ path: [index, ...path], reason })),
    }
  )
}

/** An OpenAI chat response: each choice is a conversation of one message. */
const choicesIn = (body: JsonObject): readonly Conversation[] | undefined => {
  const choices = body['choices']
  if (
    !Array.isArray(choices) ||
    choices.length === 0 ||
    !choices.every((choice): choice is JsonObject => isObject(choice) && isObject(choice['message']))
  )
    return undefined
  return choices.map((choice, index) => choiceIn(body, choice, index))
}

const choiceIn = (body: JsonObject, choice: JsonObject, index: number): Conversation => {
  const beside = fieldsBeside(choice, ['message'])
  return {
    format: 'openai-chat',
    decode: () => atPath(['choices', index, 'message'], codecs['openai-chat'].decode([choice['message']]), 1),
    ...metadataOf({ ...fieldsBeside(body, ['choices']), ...(beside && { choices: [beside] }) }, body),
  }
}

/** The conversation in the body of a request or a response. */
const fromBody = (body: JsonObject): Conversation | undefined => {
  const lists = ['messages', 'output', 'input', 'contents'].flatMap((name) =>
    Array.isArray(body[name]) ? [[name, body[name] as readonly Json[]] as const] : [],
  )
  // An OpenAI response repeats its input, which is usually empty.
  for (const [name, list] of lists.toSorted(([, a], [, b]) => Number(a.length === 0) - Number(b.length === 0))) {
    const found = fromList(list, [name], body)
    if (found !== undefined) return found
  }
  if (isGeminiAnswer(body))
    return {
      format: 'gemini',
      decode: () => codecs.gemini.decode(body),
      ...metadataOf(fieldsBeside(body, ['candidates', 'responseId']), body),
    }
  // An Anthropic response is itself a message.
  if (body['type'] !== 'message' || body['role'] !== 'assistant' || !Array.isArray(body['content']))
    return isMessage(body) ? fromList([body], [], undefined) : undefined
  return {
    format: 'anthropic',
    decode: () => codecs.anthropic.decode(body),
    ...metadataOf(fieldsBeside(body, ['content']), body),
  }
}

/** The fields of a body, other than the list, that belong to the conversation. */
const fieldsBesideList: { readonly [format in NamedFormat]?: readonly string[] } = {
  'openai-responses': ['instructions'],
  anthropic: ['system'],
  gemini: ['systemInstruction', 'system_instruction'],
}

const isGeminiAnswer = ({ candidates }: JsonObject): boolean =>
  Array.isArray(candidates) &&
  candidates.length > 0 &&
  candidates.every((candidate) => isObject(candidate) && isObject(candidate['content']))

const fromList = (list: readonly unknown[], at: Path, body: JsonObject | undefined): Conversation | undefined => {
  const name = formatOf(list, body)
  if (name === undefined) return undefined
  const { decode } = allCodecs[name]
  const [field] = at
  const unsure = misreadMessages(list, at, name)
  if (body === undefined || typeof field !== 'string')
    return { format: name, decode: () => decode(list), ...metadataOf(), losses: unsure }
  // Responses items are in `input` or `output`. In `messages` every item has a role and there are no instructions.
  const isItems = name === 'openai-responses' && field === 'messages'
  if (isItems && !list.every((item) => isObject(item) && typeof item['role'] === 'string')) return undefined
  // The fields outside the list that belong to the conversation, and those that the codec itself reads from a body.
  const beside = isItems ? [] : (ownField(fieldsBesideList, name) ?? [])
  const known = [field, ...(field === 'output' ? [] : beside)]
  const fields = Object.fromEntries(known.flatMap((key) => (body[key] === undefined ? [] : [[key, body[key]]])))
  const { origin, losses } = metadataOf(fieldsBeside(body, known), body)
  return {
    format: name,
    decode: () => (beside.length > 0 ? decode(fields) : atPath(at, decode(list))),
    origin,
    losses: [...losses, ...unsure],
  }
}

type NamedFormat = keyof AllCodecs

/** The format of most messages that show one. Messages that show none are read as OpenAI chat. */
const formatOf = (list: readonly unknown[], body: JsonObject | undefined): NamedFormat | undefined => {
  if (body !== undefined && 'system' in body) return 'anthropic'
  if (!list.every(isObject)) return undefined
  const format = mostSigned(list)
  // The first items of a session can look the same in both formats.
  if (format === 'openai-responses' && list.some(isAgentsItem)) return 'openai-agents'
  const isChat = list.every(({ role }) => typeof role === 'string') && (list.length === 0 || list.some(hasContent))
  return format ?? (isChat ? 'openai-chat' : undefined)
}

/** The format that most messages show; of equally frequent ones the first; undefined if no message shows one. */
export const mostSigned = (messages: readonly JsonObject[]): NamedFormat | undefined => {
  const counts = new Map<NamedFormat, number>()
  for (const message of messages) {
    const sign = signOf(message)
    if (sign !== undefined) counts.set(sign, (counts.get(sign) ?? 0) + 1)
  }
  const most = Math.max(...counts.values())
  for (const [sign, count] of counts) if (count === most) return sign
  return undefined
}

/** Messages that look like another format than the one used: the detection may be wrong. */
const misreadMessages = (list: readonly unknown[], at: Path, format: NamedFormat): readonly Misread[] => {
  const others = list.flatMap((message, index) => {
    const sign = isObject(message) ? signOf(message) : undefined
    return sign === undefined || sign === format ? [] : [{ index, sign }]
  })
  const [first] = others
  if (first === undefined || format === 'openai-agents') return []
  const reason = `looks like "${first.sign}"${others.length > 1 ? `, as do ${others.length - 1} more` : ''}; read as "${format}", like most messages here`
  return [{ path: [...at, first.index], reason }]
}

/** Whether a value looks like a message: it has a valid role and content. */
export const isMessage = (value: JsonObject): boolean =>
  (isRole(value['role']) || value['role'] === 'function') && hasContent(value)

const hasContent = (value: JsonObject): boolean =>
  ['content', 'parts', 'tool_calls', 'function_call'].some((field) => field in value)

/** The format that a single message shows, if any. */
const signOf = (message: JsonObject): NamedFormat | undefined => {
  const { role, type, content } = message
  if (isGeminiContent(message)) return 'gemini'
  if (typeof role === 'string' && Array.isArray(message['parts'])) return 'ai-sdk-ui'
  if (isLangChain(message)) return 'langchain'
  if (isAgentsItem(message)) return 'openai-agents'
  if (typeof role !== 'string') return isResponsesItem(type) ? 'openai-responses' : undefined
  if (
    chatFields.some((field) => field in message) ||
    role === 'function' ||
    (role === 'developer' && type === undefined)
  )
    return 'openai-chat'
  if (Array.isArray(content))
    for (const part of content as readonly Json[])
      if (isObject(part)) for (const [sign, isSign] of signs) if (isSign(part)) return sign
  return type === 'message' ? ('stop_reason' in message ? 'anthropic' : 'openai-responses') : undefined
}

/** Whether an item of OpenAI Responses has this type. */
const isResponsesItem = (type: unknown): boolean =>
  typeof type === 'string' &&
  /^(?:message|reasoning|item_reference|compaction\w*|program|mcp_list_tools|mcp_approval_(?:request|response)|tool_search\w*|\w+_call|\w+_output)$/.test(
    type,
  )

/** A Gemini content: its parts have no `type`, and the assistant's role is `model`. */
const isGeminiContent = ({ role, parts }: JsonObject): boolean =>
  Array.isArray(parts) &&
  (role === 'model' ||
    ((role === 'user' || role === undefined) &&
      parts.length > 0 &&
      parts.every((part) => isObject(part) && part['type'] === undefined)))

/** A LangChain message, as a constructor or as `{ type, data }`. */
const isLangChain = ({ lc, id, kwargs, type, data }: JsonObject): boolean =>
  (lc === 1 && Array.isArray(id) && isObject(kwargs)) ||
  (['human', 'ai', 'system', 'tool'].includes(String(type)) && isObject(data) && 'content' in data)

const chatFields = ['tool_calls', 'tool_call_id', 'function_call', 'refusal', 'reasoning_content', 'audio']

const hasType = (...types: readonly string[]): ((part: JsonObject) => boolean) => {
  const known: ReadonlySet<unknown> = new Set(types)
  return (part) => known.has(part['type'])
}

/** Parts that only one format has. */
const signs: readonly (readonly [NamedFormat, (part: JsonObject) => boolean])[] = [
  [
    'openai-responses',
    hasType('input_text', 'output_text', 'input_image', 'input_file', 'summary_text', 'reasoning_text'),
  ],
  [
    'openai-chat',
    (part) =>
      hasType('image_url', 'input_audio', 'refusal')(part) || (part['type'] === 'file' && isObject(part['file'])),
  ],
  [
    'ai-sdk',
    (part) =>
      hasType(
        'tool-call',
        'tool-result',
        'tool-approval-request',
        'tool-approval-response',
        'reasoning',
        'file',
      )(part) ||
      (part['type'] === 'image' && 'image' in part),
  ],
  [
    'anthropic',
    (part) =>
      hasType(
        'tool_use',
        'tool_result',
        'thinking',
        'redacted_thinking',
        'server_tool_use',
        'mcp_tool_use',
        'document',
        'container_upload',
        'search_result',
      )(part) ||
      (part['type'] === 'image' && 'source' in part) ||
      String(part['type']).endsWith('_tool_result') ||
      'cache_control' in part ||
      'citations' in part,
  ],
]
