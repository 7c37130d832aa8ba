/** Which requests carry a conversation, and what such a request asks. */
import type { Either } from 'fp-ts/lib/Either.js'
import { anthropic } from '../codecs/anthropic/index.ts'
import type { CodecFault, Decoded } from '../codecs/index.ts'
import { openaiChat } from '../codecs/openai-chat/index.ts'
import { openaiResponses } from '../codecs/openai-responses/index.ts'
import { isLeft, isObject, left, parseJson, right, type Json, type JsonObject } from '../json/index.ts'
import type { Message } from '../message/index.ts'

/** The APIs whose calls are recorded. */
export type RecordedApi = 'openai-chat' | 'openai-responses' | 'anthropic'

/** A request, as far as it is looked at. */
export interface ObservedRequest {
  /** Such as `POST`. */
  readonly method: string
  /** The whole address. */
  readonly url: string
  /** A header's value by its name in lower case. */
  readonly header: (name: string) => string | undefined
}

const paths: readonly (readonly [path: RegExp, api: RecordedApi])[] = [
  [/\/chat\/completions$/, 'openai-chat'],
  [/\/responses$/, 'openai-responses'],
  [/\/messages$/, 'anthropic'],
]

/** The API that a request calls; undefined: one that is not recorded. Any path before the API's own will do. */
export const apiOf = ({ method, url }: Pick<ObservedRequest, 'method' | 'url'>): RecordedApi | undefined => {
  if (method.toUpperCase() !== 'POST') return undefined
  const path = /^[a-z]+:\/\/[^/?#]*([^?#]*)/i.exec(url)?.[1] ?? url.replace(/[?#].*$/s, '')
  return paths.find(([pattern]) => pattern.test(path.replace(/\/+$/, '')))?.[1]
}

/** What a request says: its conversation, and what stands beside it. */
export interface Asked {
  readonly api: RecordedApi
  readonly model: string
  readonly messages: readonly Message[]
  /** `system` or `instructions`; undefined if there is none. */
  readonly system: Json | undefined
  readonly tools: Json | undefined
  /** The rest of the request. */
  readonly parameters: JsonObject
  /** The response that it continues, where the API keeps conversations itself. */
  readonly previous: string | undefined
  /** What the client calls the conversation, if it says so. */
  readonly client: string | undefined
}

/** Read the body of a request. Errors: why it can't be read. */
export const readAsked = (api: RecordedApi, body: string, request: ObservedRequest): Either<string, Asked> => {
  const parsed = parseJson(body)
  if (isLeft(parsed)) return left(`the request is not JSON at line ${parsed.left.line}, column ${parsed.left.column}`)
  if (!isObject(parsed.right)) return left('the request is not a JSON object')
  const { model, messages, input, system, instructions, tools, ...rest } = parsed.right
  const { stream: _stream, stream_options: _options, previous_response_id: previous, ...parameters } = rest
  const decoded = decodeMessages(api, api === 'openai-responses' ? input : messages)
  if (isLeft(decoded)) return left(`its messages can't be read: ${JSON.stringify(decoded.left).slice(0, 300)}`)
  return right({
    api,
    model: typeof model === 'string' ? model.toWellFormed() : 'unknown',
    messages: decoded.right.messages.map(withoutMarks),
    system: api === 'openai-responses' ? instructions : system,
    tools,
    parameters: wellFormed(parameters),
    previous: typeof previous === 'string' ? previous : undefined,
    client: clientOf(parsed.right, request)?.toWellFormed(),
  })
}

/** What a note can hold: no half of a character in its texts. */
const wellFormed = (parameters: JsonObject): JsonObject =>
  JSON.parse(JSON.stringify(parameters), (_, value: unknown) =>
    typeof value === 'string' ? value.toWellFormed() : value,
  ) as JsonObject

/** Read messages of an API. */
const decodeMessages = (api: RecordedApi, wire: unknown): Either<CodecFault, Decoded> =>
  api === 'openai-chat'
    ? openaiChat.decode(wire)
    : api === 'anthropic'
      ? anthropic.decode(wire)
      : openaiResponses.decode(wire ?? [])

/**
 * What a client calls its conversation: Claude Code in `metadata.user_id`, Codex in headers and in `prompt_cache_key`,
 * others in the `conversation` of OpenAI's Responses.
 *
 * Source  Claude Code 2.1.330 and Codex 0.169.0 on loopback (2026-11)
 */
const clientOf = (body: JsonObject, { header }: ObservedRequest): string | undefined => {
  for (const name of ['session-id', 'session_id', 'thread-id', 'x-session-id']) {
    const value = header(name)
    if (value !== undefined && value !== '') return value
  }
  const { metadata, conversation, prompt_cache_key: cacheKey } = body
  const user = isObject(metadata) ? metadata['user_id'] : undefined
  if (typeof user === 'string') {
    const parsed = parseJson(user)
    const named = !isLeft(parsed) && isObject(parsed.right) ? parsed.right['session_id'] : undefined
    if (typeof named === 'string') return named
    const old = /_session_([0-9a-f-]{36})$/.exec(user)?.[1]
    if (old !== undefined) return old
  }
  if (typeof conversation === 'string') return conversation
  if (isObject(conversation) && typeof conversation['id'] === 'string') return conversation['id']
  return typeof cacheKey === 'string' && cacheKey !== '' ? cacheKey : undefined
}

/** A message without the marks that say where a provider's cache ends: clients move them from call to call. */
export const withoutMarks = (message: Message): Message => {
  const text = JSON.stringify(message)
  return text.includes('"cache_control"') ? (JSON.parse(text, dropMarks) as Message) : message
}

const dropMarks = (key: string, value: unknown): unknown => {
  if (key === 'cache_control') return undefined
  if (key !== 'meta' || !isObject(value)) return value
  // What is empty by that was not there.
  const kept = Object.entries(value).filter(([, one]) => !(isObject(one) && emptied(one)))
  return kept.length === 0 ? undefined : Object.fromEntries(kept)
}

const emptied = (kept: { readonly [key: string]: unknown }): boolean =>
  Object.values(kept).every((value) => isObject(value) && Object.keys(value).length === 0)
