/** Decodes Gemini contents: results become tool messages, and consecutive model contents become one message. */
import type { Either } from 'fp-ts/lib/Either.js'
import {
  ownField,
  aList,
  anObject,
  aString,
  fieldsBeside,
  isArray,
  isObject,
  optionsOf,
  readEach,
  readIn,
  Unexpected,
  type Json,
  type JsonObject,
} from '../../json/index.ts'
import type { Message, Part } from '../../message/index.ts'
import type { Sequence } from '../../sequence/index.ts'
import { decodeWire, lossesForUnread, type ListReading } from '../admit.ts'
import type { Decode, Decoded, Loss } from '../codec.ts'
import type { DecodeFault } from '../fault.ts'
import { keepingOf, type KeptMeta, messageOf, pushUser, withResponse } from '../parts.ts'
import { residualOf } from '../residual.ts'
import { CallReader, nextMadeId } from './calls.ts'
import { format, marksText, responseMeta, type GeminiMark } from './marks.ts'
import { isPart, readPart, type Place } from './parts-decode.ts'

const { keep, mark } = keepingOf(format)

/**
 * Decodes `{ systemInstruction, contents }`, an array of contents, or a response body like
 * `decodeResponse`. Other fields of a request are listed as losses.
 */
export const decode: Decode = (wire) =>
  decodeWire(format, wire, readRequest, (value) => (isArray(value) ? [] : ['contents']))

/** Options for decoding a response. */
interface GeminiResponseOptions {
  /** The conversation that was sent. Generated call ids avoid those in it. Default: none. */
  readonly after?: Sequence<Message>
}

/**
 * Decodes an API response. The content of its first candidate becomes one assistant message with the response's id; a
 * response without a candidate gives no message. Everything else goes into the message's `meta` under
 * `gemini-response`: the usage, the finish reason, grounding sources, ratings, other candidates.
 *
 * @returns the message; or a fault with the path
 * @example
 * decodeResponse(await client.models.generateContent(request))
 */
export const decodeResponse = (body: unknown, options: GeminiResponseOptions = {}): Either<DecodeFault, Decoded> => {
  const { after } = optionsOf('decodeResponse', options, { after: true })
  return decodeWire(
    format,
    plainClientAnswer(body),
    (value) => readResponse(anObject(value), new CallReader(after === undefined ? 0 : nextMadeId(after))),
    ['candidates', 0, 'content', 'parts'],
  )
}

/** Removes the HTTP headers that the client adds to a response. */
const plainClientAnswer = (body: unknown): unknown => {
  try {
    if (!isObject(body)) return body
    const { sdkHttpResponse: _headers, ...plain } = body
    return plain
  } catch {
    return body // `decodeWire` returns the fault of a value that can't be read
  }
}

const readResponse = (body: JsonObject, calls: CallReader): readonly Message[] => {
  const [first, ...others] = body['candidates'] === undefined ? [] : readIn(body, 'candidates', aList)
  if (first === undefined) return []
  const candidate = anObject(first)
  const jsonObject = candidate['content'] === undefined ? {} : readIn(candidate, 'content', anObject)
  const content = readEach(aList(jsonObject['parts'] ?? []), (part) =>
    readPart(part, { role: 'model', calls, isAnswer: true }),
  )
  const id = body['responseId'] === undefined ? undefined : readIn(body, 'responseId', aString)
  const rest = {
    ...fieldsBeside(body, ['responseId', 'candidates']),
    ...fieldsBeside(candidate, candidate['index'] === 0 ? ['content', 'index'] : ['content']),
    ...(others.length > 0 && { candidates: others }),
  }
  const kept = keep(jsonObject, jsonObject['role'] === undefined ? {} : { role: 'model' }, undefined, ['parts'])
  return [messageOf('assistant', content, withResponse(kept, responseMeta, rest), id)]
}

const readRequest = (wire: Json, beside: Loss[]): readonly Message[] => {
  const calls = new CallReader(0)
  if (Array.isArray(wire)) return readContents(aList(wire), calls, false)
  if (!isObject(wire)) throw new Unexpected([], 'an object with contents, or an array of them', wire)
  if (wire['contents'] === undefined && Array.isArray(wire['candidates'])) return readResponse(wire, calls)
  const snake = wire['systemInstruction'] === undefined && wire['system_instruction'] !== undefined
  const system = snake ? 'system_instruction' : 'systemInstruction'
  for (const loss of lossesForUnread(wire, [system, 'contents'], 'request')) beside.push(loss)
  const contents = readIn(wire, 'contents', (list) =>
    Array.isArray(list)
      ? readContents(aList(list), calls, false)
      : typeof list === 'string' || isObject(list)
        ? readContents([list], calls, true)
        : aList(list) && [],
  )
  return wire[system] === undefined
    ? contents
    : [readIn(wire, system, (value) => readSystem(value as Json, { role: 'system', calls }, snake)), ...contents]
}

/** Reads instructions: a content, or a form that Google's client converts to one. */
const readSystem = (wire: Json, place: Place, snake: boolean): Message => {
  const at = snake && 'snake'
  if (isObject(wire) && !isBareContent(wire)) {
    const { parts, isSingle, fields } = readParts(wire, place, {})
    return messageOf('system', parts, fields(marksText(at, isSingle, isExact(parts))))
  }
  const list = Array.isArray(wire) ? aList(wire) : [wire]
  const parts = readEach(list, (part) => readPart(part, place))
  return messageOf('system', parts, mark(marksText(at, 'bare', !Array.isArray(wire) && 'only', isExact(parts))))
}

/** The mark for instructions that the API rejects because they are not text. */
const isExact = (parts: readonly Part[]): GeminiMark | false =>
  (parts.length === 0 || parts.some(({ type }) => type !== 'text')) && 'exact'

/** A text or a part in place of a content. */
const isBareContent = (item: Json): boolean =>
  typeof item === 'string' || (isObject(item) && item['parts'] === undefined && isPart(item))

const readContents = (list: readonly Json[], calls: CallReader, only: boolean): readonly Message[] => {
  const messages: Message[] = []
  readContentsAfter(undefined, list, messages, calls, only)
  return messages
}

/** Reads the contents of a request in pieces. */
export const readingOfRequest = (
  messages: readonly Message[] = [],
  calls: CallReader = new CallReader(0),
  last?: Json,
): ListReading => {
  const all = [...messages]
  let before = last
  return {
    format,
    read: (list) => {
      // They would be a message together with those before.
      if (before !== undefined && list[0] !== undefined && isBareContent(before) && isBareContent(list[0]))
        throw new Unexpected([0], 'a content, not a part that continues the list before', list[0])
      before = readContentsAfter(before, list, all, calls, false)
      return all
    },
    copy: () => readingOfRequest(all, calls.copy(), before),
  }
}

/** Reads contents after another one. @returns the last one */
const readContentsAfter = (
  last: Json | undefined,
  list: readonly Json[],
  messages: Message[],
  calls: CallReader,
  only: boolean,
): Json | undefined => {
  let before = last
  readEach(list, (item, index) => {
    if (isBareContent(item)) {
      const place: Place = { role: 'user', calls }
      if (before === undefined || !isBareContent(before)) {
        let to = index + 1
        while (to < list.length && isBareContent(list[to] as Json)) to++
        const parts = readEach(list.slice(index, to), (part) => readPart(part, place))
        pushUser(messages, parts, { keep: mark, mark, as: marksText('bare', only && 'only'), asFound: true })
      }
    } else readContent(anObject(item), messages, calls, only, isPlainTurn(before))
    before = item
  })
  return before
}

/** Whether it is a model content without fields that would be lost when merged into another content. */
const isPlainTurn = (content: Json | undefined): boolean =>
  isObject(content) &&
  content['role'] === 'model' &&
  Array.isArray(content['parts']) &&
  content['parts'].length > 0 &&
  Object.keys(content).length === 2

const readContent = (
  wire: JsonObject,
  messages: Message[],
  calls: CallReader,
  only: boolean,
  afterPlain: boolean,
): void => {
  const { role = 'user' } = wire
  if (role !== null && (typeof role !== 'string' || !roles.has(role)))
    throw new Unexpected(['role'], '"user" or "model"', role)
  const isModel = role === 'model'
  const previous = messages.at(-1)
  if (isModel && previous?.role !== 'assistant') calls.turn()
  const place: Place = { role: isModel ? 'model' : 'user', calls }
  const { parts, isSingle, fields } = readParts(wire, place, { role: isModel ? 'model' : 'user' })
  const alone = only && 'only'
  const empty = parts.length === 0 && 'exact'
  if (!isModel)
    return pushUser(messages, parts, { keep: fields, mark, as: marksText(isSingle, alone, empty), asFound: true })
  const answers = parts.some(({ type }) => type === 'tool_result')
  if (previous?.role === 'assistant' && afterPlain && isPlainTurn(wire) && !answers) {
    const [first, ...rest] = parts as readonly [Part, ...Part[]]
    messages[messages.length - 1] = freeze({
      ...previous,
      content: freeze([...previous.content, markOwnContent(first), ...rest]),
    })
    return
  }
  const broken = previous === undefined || answers
  const as = marksText(isSingle, alone, previous?.role === 'assistant' && 'apart', empty || (broken && 'exact'))
  messages.push(messageOf('assistant', parts, fields(as)))
}

/** `function` was the role of results before 2024. */
const roles: ReadonlySet<string> = new Set(['user', 'model', 'function'])

interface Read {
  readonly parts: readonly Part[]
  /** The form of the list. */
  readonly isSingle: GeminiMark | false
  /** The form of the content, as `meta`. */
  readonly fields: (as: string | undefined) => KeptMeta
}

const readParts = (wire: JsonObject, place: Place, written: JsonObject): Read => {
  const list = wire['parts']
  const isSingle = isObject(list) || typeof list === 'string'
  if (!isSingle && list !== undefined && list !== null && !Array.isArray(list))
    throw new Unexpected(['parts'], 'an array of parts', list)
  const isRead = isSingle || Array.isArray(list)
  const parts = isRead
    ? readIn(wire, 'parts', (found) =>
        isSingle ? [readPart(found as Json, place)] : readEach(aList(found), (part) => readPart(part, place)),
      )
    : []
  return {
    parts,
    isSingle: isSingle && 'one',
    fields: (as) => keep(wire, isRead ? written : { ...written, parts: [] }, as, isRead ? ['parts'] : []),
  }
}

/** Marks a part that started a separate content. */
const markOwnContent = (part: Part): Part => {
  const kept = residualOf(format, part)
  const again = {
    ...(kept?.fields && { fields: kept.fields }),
    ...(kept?.absent && { absent: freeze(kept.absent) }),
    as: kept?.as === undefined ? 'apart' : `${kept.as} apart`,
  }
  const meta = freeze({ ...ownField(part, 'meta'), [format]: freeze(again) })
  return freeze({ ...part, meta })
}

const { freeze } = Object
