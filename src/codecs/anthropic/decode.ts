/** Decodes Anthropic Messages: results become tool messages, and everything else keeps its place. */
import type { Either } from 'fp-ts/lib/Either.js'
import {
  base64OfText,
  aList,
  anObject,
  aString,
  fieldsBeside,
  isArray,
  isObject,
  readEach,
  readIn,
  Unexpected,
  type Json,
  type JsonObject,
  ownField,
} from '../../json/index.ts'
import { decodeWire, lossesForUnread, type ListReading } from '../admit.ts'
import type { Decode, Decoded, Loss } from '../codec.ts'
import type { DecodeFault } from '../fault.ts'
import type {
  FilePart,
  ImagePart,
  Message,
  Part,
  ReasoningPart,
  ResultPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '../../message/index.ts'
import {
  callPart,
  filePart,
  imagePart,
  keepingOf,
  type KeptMeta,
  messageOf,
  pushUser,
  reasoningPart,
  resultPart,
  stringIn,
  textPart,
  withResponse,
} from '../parts.ts'
import type { Resolved } from '../source.ts'
import { format, isTurnCall, marksText } from './marks.ts'
import { endsInSpace, fitsId, fitsName, isBlank, isFetched, isImageType, isSignature } from './rules.ts'

const { keep, mark, raw } = keepingOf(format)

/**
 * Decodes `{ system, messages }`, an array of messages, or a response body like `decodeResponse`.
 * Other fields of a request are listed as losses.
 */
export const decode: Decode = (wire) =>
  decodeWire(format, wire, readRequest, (value) => (isArray(value) ? [] : ['messages']))

/**
 * Decodes an API response: a body with `role` and `content`. It becomes one assistant message with the body's id. The
 * model, the stop reason and the usage go into its `meta` under `anthropic-response`.
 *
 * The API sometimes returns blocks that it rejects in a request, such as an empty text. They are recorded unchanged.
 * When the message is sent back, they are omitted, with a loss for each.
 *
 * @returns the message; or a fault with the path
 * @example
 * decodeResponse(await client.messages.create(request))
 */
export const decodeResponse = (body: unknown): Either<DecodeFault, Decoded> =>
  decodeWire(format, body, (value) => [readResponse(anObject(value))])

/** The `meta` key for a response's other fields. Not the codec's name, because requests do not include them. */
export const responseMeta = 'anthropic-response'

/**
 * Decodes messages from an application's own storage, such as the lines of a session file.
 *
 * The application cleans them before sending. So content that the API rejects is not marked to be written again:
 * encoding omits it, with a loss for each. `decode` is for requests and does mark it.
 *
 * @returns the messages; or a fault with the path
 * @example
 * decodeRecorded([{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: '' }] }])
 */
export const decodeRecorded: Decode = (messages) =>
  decodeWire(format, messages, (value) => {
    const read: Message[] = []
    readMessages(aList(value), read, false)
    return read
  })

const readResponse = (body: JsonObject): Message => {
  if (body['role'] !== 'assistant') throw new Unexpected(['role'], '"assistant"', body['role'])
  const parts = readIn(body, 'content', (list) =>
    readEach(aList(list), (block) => readPart(block, { role: 'assistant', asFound: false })),
  )
  const id = body['id'] === undefined ? undefined : readIn(body, 'id', aString)
  const rest = fieldsBeside(body, ['id', 'role', 'content']) ?? {}
  const kept = mark(marksText(isShort(body['content']) && 'parts'))
  return messageOf('assistant', parts, withResponse(kept, responseMeta, rest), id)
}

const readRequest = (wire: Json, beside: Loss[]): readonly Message[] => {
  const messages: Message[] = []
  if (isArray(wire)) readMessages(wire, messages, true)
  else if (isObject(wire) && wire['messages'] === undefined && isArray(wire['content']))
    messages.push(readResponse(wire))
  else {
    if (!isObject(wire)) throw new Unexpected([], 'an object with messages, or an array of them', wire)
    for (const loss of lossesForUnread(wire, ['system', 'messages'], 'request')) beside.push(loss)
    if (wire['system'] !== undefined) messages.push(readIn(wire, 'system', readSystem))
    readIn(wire, 'messages', (list) => readMessages(aList(list), messages, true))
  }
  return messages
}

const readSystem = (wire: Json | undefined): Message => {
  const { parts, short } = readContent(wire, { role: 'system', asFound: true })
  return messageOf('system', parts, mark(marksText(short && 'parts', parts.length === 0 && 'exact')))
}

/** Reads the messages of a request in pieces. */
export const readingOfRequest = (messages: readonly Message[] = [], len: number = 0): ListReading => {
  const all = [...messages]
  let before = len
  return {
    format,
    read: (list, isEnd) => {
      readMessages(list, all, true, { before, isEnd })
      before += list.length
      return all
    },
    copy: () => readingOfRequest(all, before),
  }
}

/** Where a list is in a longer one. */
interface ListPlace {
  /** The number of elements before it. */
  readonly before: number
  readonly isEnd: boolean
}

const readMessages = (
  list: readonly Json[],
  messages: Message[],
  asFound: boolean,
  { before, isEnd }: ListPlace = { before: 0, isEnd: true },
): void => {
  readEach(list, (item, index) => {
    const wire = anObject(item)
    const role = wire['role']
    if (role !== 'user' && role !== 'assistant' && role !== 'system')
      throw new Unexpected(['role'], '"user", "assistant" or "system"', role)
    const absent = role === 'system' && wire['content'] === undefined
    const content = absent
      ? { parts: [], short: false }
      : readIn(wire, 'content', (value) =>
          readContent(value, { role, asFound, last: isEnd && index === list.length - 1 }),
        )
    // Keeps whether there is content; the parts keep the content itself.
    const fields = (as: string | undefined): KeptMeta =>
      keep(wire, absent ? { role, content: '' } : { role }, as, absent ? [] : ['content'])
    if (role === 'user') {
      const as = marksText(content.short && 'parts', asFound && content.parts.length === 0 && 'exact')
      pushUser(messages, content.parts, { keep: fields, mark, as, asFound })
    } else {
      const broken =
        asFound &&
        (content.parts.length === 0 || (role === 'assistant' && (before + index === 0 || isOutOfOrder(content.parts))))
      const as = marksText(role === 'system' && 'message', content.short && 'parts', broken && 'exact')
      messages.push(messageOf(role, content.parts, fields(as)))
    }
  })
}

/** Whether the API rejects an assistant message because of the order of its blocks. */
const isOutOfOrder = (parts: readonly Part[]): boolean => {
  const call = parts.findIndex(isTurnCall)
  return (
    parts.at(-1)?.type === 'reasoning' ||
    parts.some((part, index) => part.type === 'tool_result' || (call !== -1 && index > call && !isTurnCall(part)))
  )
}

interface Content {
  readonly parts: readonly Part[]
  /** Whether it was a list that would be written as a string or omitted. */
  readonly short: boolean
}

interface Place {
  readonly role: 'system' | 'user' | 'assistant' | 'result'
  /** Whether to mark content that the API rejects, so that it is written again. */
  readonly asFound: boolean
  readonly last?: boolean
}

const readContent = (wire: Json | undefined, place: Place): Content => {
  if (typeof wire === 'string')
    return { parts: [readPart({ type: 'text', text: wire }, place, ownField(place, 'last'))], short: false }
  if (!isArray(wire)) throw new Unexpected([], 'a string or an array of blocks', wire)
  return {
    parts: readEach(wire, (block, index) => readPart(block, place, place.last === true && index === wire.length - 1)),
    short: isShort(wire),
  }
}

const isShort = (list: Json | undefined): boolean =>
  isArray(list) && (list.length === 0 || (list.length === 1 && isPlainText(list[0])))

const isPlainText = (block: Json | undefined): boolean =>
  isObject(block) && block['type'] === 'text' && Object.keys(block).length === 2

/** Reads a block. Blocks without an equivalent in the message model, or with missing fields, are carried raw. */
const readPart = (item: Json, place: Place, isEnd = false): Part => {
  const wire = anObject(item)
  if (wire['type'] === 'text') return readText(wire, place, isEnd)
  if (place.role !== 'system') {
    const source = wire['source']
    if (wire['type'] === 'image' && isObject(source)) return readImage(wire, source, place) ?? raw(wire)
    if (wire['type'] === 'document' && isObject(source)) return readDocument(wire, source, place) ?? raw(wire)
    if (place.role !== 'result') return readSpoken(wire, place) ?? raw(wire)
  }
  return raw(wire)
}

const readSpoken = (wire: JsonObject, place: Place): Part | undefined => {
  switch (wire['type']) {
    case 'thinking':
      return typeof wire['thinking'] === 'string' ? readThinking(wire, wire['thinking'], place) : undefined
    case 'redacted_thinking':
      return typeof wire['data'] === 'string' ? readRedacted(wire, wire['data'], place) : undefined
    case 'tool_use':
      return readCall(wire, place)
    case 'tool_result':
      return readResult(wire, place)
    default:
      return undefined
  }
}

const readText = (wire: JsonObject, { role, asFound }: Place, isEnd: boolean): TextPart => {
  const text = readIn(wire, 'text', aString)
  const broken = isBlank(text) || (isEnd && role === 'assistant' && endsInSpace(text))
  return textPart(text, keep(wire, { type: 'text', text }, asFound && broken && 'exact'))
}

const readImage = (wire: JsonObject, from: JsonObject, { role, asFound }: Place): ImagePart | undefined => {
  const source = readSource(from)
  if (source === undefined) return undefined
  const broken =
    role === 'assistant' ||
    (source.type === 'url' ? !isFetched(source.url) : !isImageType(source.mediaType) || source.data === '')
  return imagePart(source, keep(wire, { type: 'image', source: writtenSource(source) }, asFound && broken && 'exact'))
}

const readDocument = (wire: JsonObject, from: JsonObject, { role, asFound }: Place): FilePart | undefined => {
  const source = readPlainText(from) ?? readSource(from)
  if (source === undefined) return undefined
  const name = stringIn(wire, 'title')
  const isText = from['type'] === 'text'
  const broken =
    role === 'assistant' ||
    (source.type === 'url'
      ? !isFetched(source.url)
      : (!isText && source.mediaType !== 'application/pdf') || source.data === '')
  const document = isText ? { type: 'text', media_type: 'text/plain', data: from['data'] } : writtenSource(source)
  const written = { type: 'document', source: document, ...(name !== undefined && { title: name }) }
  return filePart(source, name, keep(wire, written, asFound && broken && 'exact'))
}

const readSource = ({ type, url, media_type, data }: JsonObject): Resolved | undefined => {
  if (type === 'url' && typeof url === 'string') return freeze({ type, url })
  return type === 'base64' && typeof media_type === 'string' && typeof data === 'string'
    ? freeze({ type, mediaType: media_type, data })
    : undefined
}

const readPlainText = ({ type, media_type, data }: JsonObject): Resolved | undefined =>
  type === 'text' && media_type === 'text/plain' && typeof data === 'string'
    ? freeze({ type: 'base64', mediaType: media_type, data: base64OfText(data) })
    : undefined

/** A source in wire format. */
export const writtenSource = (source: Resolved): { type: string; [field: string]: string } =>
  source.type === 'url'
    ? { type: 'url', url: source.url }
    : { type: 'base64', media_type: source.mediaType, data: source.data }

const readThinking = (wire: JsonObject, text: string, { role, asFound }: Place): ReasoningPart => {
  const signature = stringIn(wire, 'signature')
  const broken = role !== 'assistant' || !isSignature(signature)
  const written = { type: 'thinking', thinking: text, ...(signature !== undefined && { signature }) }
  return reasoningPart(text, signature, keep(wire, written, asFound && broken && 'exact'))
}

const readRedacted = (wire: JsonObject, data: string, { role, asFound }: Place): ReasoningPart =>
  freeze({
    type: 'reasoning',
    text: '',
    encrypted: data,
    ...keep(wire, { type: 'redacted_thinking', data }, asFound && role !== 'assistant' && 'exact'),
  })

const readCall = (wire: JsonObject, { asFound }: Place): ToolCallPart => {
  const id = readIn(wire, 'id', aString)
  const name = readIn(wire, 'name', aString)
  const input = wire['input'] ?? (Object.hasOwn(wire, 'input') ? null : {})
  const broken = !fitsId(id) || !fitsName(name) || !isObject(input)
  const kept = keep(wire, { type: 'tool_use', id, name, input }, asFound && broken && 'exact')
  return callPart(id, name, JSON.stringify(input), kept)
}

const readResult = (wire: JsonObject, { asFound }: Place): ToolResultPart => {
  const callId = readIn(wire, 'tool_use_id', aString)
  const input = wire['content']
  const isContent = input !== undefined && input !== null
  const { parts, short }: Content = isContent
    ? readIn(wire, 'content', (content) => readContent(content, { role: 'result', asFound }))
    : { parts: [], short: false }
  const { is_error: error } = wire
  const isError = typeof error === 'boolean' ? error : undefined
  const broken =
    !fitsId(callId) ||
    (isError === true && !parts.some(isNotBlank)) ||
    (isError === true && parts.some(({ type }) => type !== 'text'))
  const written = { type: 'tool_result', tool_use_id: callId, ...(isError !== undefined && { is_error: isError }) }
  const as = marksText(short && 'parts', asFound && broken && 'exact')
  const kept = keep(wire, written, as, isContent ? ['content'] : [])
  return resultPart(callId, parts as readonly ResultPart[], kept, undefined, isError) // it has no other kinds of parts
}

const isNotBlank = (part: Part): boolean => part.type !== 'text' || !isBlank(part.text)

const { freeze } = Object
