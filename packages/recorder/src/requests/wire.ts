/** Recognizes requests that carry a conversation, and parses them. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, isObject, left, parseJson, right, type Json, type JsonObject } from 'indelible/internal/json'
import type { CodecFault } from 'indelible/codecs'
import type { Message } from 'indelible/message'
import { apis, type Api, type RecordedApi } from '../apis/index.ts'
import { hasTooManyValues, mostMessages, mostValues } from '../answers/body.ts'
import { callerDigest, namesInHeaders } from './kept-headers.ts'
import { withoutKeys } from './keys.ts'

/** The parts of a request that are inspected. */
export interface ObservedRequest {
  /** Such as `POST`. */
  readonly method: string
  /** The complete URL. */
  readonly url: string
  /** A header by its lower-case name. */
  readonly header: (name: string) => string | undefined
  /** The working folder of the program that sends it, if the host knows it: the metadata `cwd` of a new session. */
  readonly folder?: string | undefined
}

/** The API that a request calls; undefined if it is not recorded. Any path prefix is accepted. */
export const apiOf = ({ method, url }: Pick<ObservedRequest, 'method' | 'url'>): Api | undefined => {
  if (method.toUpperCase() !== 'POST') return undefined
  const path = pathOf(url)
  return apis.find((api) => api.path.test(path))
}

/** Whether a request carries a conversation that a recorder records. Others pass through, and are counted. */
export const carriesConversation = (request: Pick<ObservedRequest, 'method' | 'url'>): boolean =>
  apiOf(request) !== undefined

/** The path of a URL, without trailing slashes. Cost: O(url) for any input. */
const pathOf = (url: string): string => {
  const path = /^[a-z]+:\/\/[^/?#]*([^?#]*)/i.exec(url)?.[1] ?? url.replace(/[?#].*$/s, '')
  let end = path.length
  while (path[end - 1] === '/') end--
  return path.slice(0, end)
}

/** A URL for notices, without the parts that may hold a key or a password. */
export const shownUrl = (url: string): string =>
  url.replace(/[?#].*$/s, '').replace(/^([a-z][a-z\d+.-]*:\/\/)[^/]*@/i, '$1')

/** A parsed request: its conversation, and its other settings. */
export interface ParsedRequest {
  readonly api: RecordedApi
  readonly model: string
  /** Whether it asks for a stream. */
  readonly stream: boolean
  /** Whether a stream has the token counts in a chunk of their own. */
  readonly countsTokens: boolean
  readonly messages: readonly Message[]
  /** `system` or `instructions`; undefined if there is none. */
  readonly system: Json | undefined
  readonly tools: Json | undefined
  readonly parameters: JsonObject
  /** The response that it continues, if the API stores conversations. */
  readonly previous: string | undefined
  /** The conversation that it continues, if the API stores earlier messages under a name. */
  readonly conversation: string | undefined
  /** The client's name for the conversation, if it has one. */
  readonly client: string | undefined
  /** The caller: the same value for the same credentials. */
  readonly caller: string
  /** The working folder of the program that sends it, if known. */
  readonly folder: string | undefined
}

/**
 * Parse the body of a request. The error says why it can't be read.
 *
 * @param reading parses the body, with the list in its value; decodes the list, undefined if it can't. Default: as the API
 * does
 */
export const parseRequestBody = (
  api: Api,
  body: string,
  request: ObservedRequest,
  reading?: {
    readonly parse: (body: string, listIn: (value: unknown) => unknown) => ReturnType<typeof parseJson>
    readonly decode: (list: readonly unknown[]) => readonly Message[] | undefined
  },
): Either<string, ParsedRequest> => {
  if (hasTooManyValues(body)) return left(`the request has more than ${mostValues} values`)
  const path = pathOf(request.url)
  const listIn = (value: unknown): unknown => (isObject(value) ? api.request(value, path).list : undefined)
  const parsed = reading === undefined ? parseJson(body) : reading.parse(body, listIn)
  if (isLeft(parsed)) return left(`the request is not JSON at line ${parsed.left.line}, column ${parsed.left.column}`)
  if (!isObject(parsed.right)) return left('the request is not a JSON object')
  const longest = longestListIn(parsed.right)
  if (longest > mostMessages) return left(`the request has ${longest} messages; at most ${mostMessages} are recorded`)
  const { model, list, system, tools, parameters, previous, conversation, client } = api.request(parsed.right, path)
  const messages = messagesOf(api, list, body, reading?.decode)
  if (isLeft(messages)) return left(`its messages can't be read: ${JSON.stringify(messages.left).slice(0, 300)}`)
  const { stream_options: options } = parsed.right
  return right({
    api: api.name,
    model: typeof model === 'string' ? model.toWellFormed() : 'unknown',
    stream: parsed.right['stream'] === true || /:stream\w+$/i.test(path),
    countsTokens: isObject(options) && options['include_usage'] === true,
    messages: messages.right,
    system,
    tools: tools === undefined ? undefined : withoutKeys(tools),
    parameters: withoutKeys(wellFormed(parameters)),
    previous: typeof previous === 'string' ? previous : undefined,
    conversation: typeof conversation === 'string' ? conversation : undefined,
    client: (clientOf(parsed.right, request) ?? (typeof client === 'string' ? client : undefined))?.toWellFormed(),
    caller: callerDigest(request.header),
    folder: request.folder,
  })
}

const messagesOf = (
  api: Api,
  list: unknown,
  body: string,
  decodeList: ((list: readonly unknown[]) => readonly Message[] | undefined) | undefined,
): Either<CodecFault, readonly Message[]> => {
  const known = Array.isArray(list) ? decodeList?.(list) : undefined
  if (known !== undefined) return right(known)
  const decoded = api.decode(list)
  if (isLeft(decoded)) return decoded
  const mayHaveMarks = body.includes('cache_control') || body.includes('\\u')
  return right(mayHaveMarks ? decoded.right.messages.map(withoutMarks) : decoded.right.messages)
}

/** The length of the longest list in a request, or in its envelope (Code Assist). */
const longestListIn = (body: JsonObject): number =>
  [...Object.values(body), ...Object.values(isObject(body['request']) ? body['request'] : {})].reduce<number>(
    (most, item) => (Array.isArray(item) ? Math.max(most, item.length) : most),
    0,
  )

/** The same parameters with well-formed texts. */
const wellFormed = (parameters: JsonObject): JsonObject =>
  JSON.parse(JSON.stringify(parameters), (_, value: unknown) =>
    typeof value === 'string' ? value.toWellFormed() : value,
  ) as JsonObject

/**
 * A client's name for its conversation: Claude Code in `metadata.user_id`, Codex in headers and in
 * `prompt_cache_key`, others in the `conversation` of OpenAI's Responses. Codex's sub-agents share
 * the `session-id` of their parent, and have a `thread-id` each.
 *
 * Source  Claude Code 2.1.330 and Codex 0.169.0 on loopback (2026-11)
 */
const clientOf = (body: JsonObject, { header }: ObservedRequest): string | undefined => {
  for (const name of namesInHeaders) {
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

/** A message without cache marks, which clients move from call to call. */
export const withoutMarks = (message: Message): Message => {
  const text = JSON.stringify(message)
  return text.includes('"cache_control"') ? (JSON.parse(text, dropMarks) as Message) : message
}

const dropMarks = (key: string, value: unknown): unknown => {
  // A field of that name in a tool's input is data.
  if (key === 'cache_control' && (value === null || (isObject(value) && typeof value['type'] === 'string')))
    return undefined
  if (key !== 'meta' || !isObject(value)) return value
  // Drop objects that became empty.
  const kept = Object.entries(value).filter(([, item]) => !(isObject(item) && isEmptied(item)))
  return kept.length === 0 ? undefined : Object.fromEntries(kept)
}

const isEmptied = (kept: { readonly [key: string]: unknown }): boolean =>
  Object.values(kept).every((value) => isObject(value) && Object.keys(value).length === 0)
