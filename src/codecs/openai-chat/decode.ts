/** Decodes OpenAI Chat Completions messages. */
import {
  aList,
  anObject,
  aString,
  isObject,
  readEach,
  readIn,
  Unexpected,
  type Json,
  type JsonObject,
} from '../../json/index.ts'
import { decodeWire, type ListReading } from '../admit.ts'
import { isOnePlainText } from '../content.ts'
import { fitsCallId, fitsName } from '../call-ids.ts'
import type { Decode } from '../codec.ts'
import type {
  FilePart,
  Message,
  Part,
  ProviderPart,
  RefusalPart,
  ResultPart,
  Role,
  ToolCallPart,
} from '../../message/index.ts'
import {
  callPart,
  filePart,
  imagePart,
  keepingOf,
  messageOf,
  reasoningPart,
  refusalPart,
  resultPart,
  stringIn,
  textPart,
} from '../parts.ts'
import { sourceOf } from '../source.ts'

export const format = 'openai-chat'

export const longestCallId = 40

const { keep, mark, raw } = keepingOf(format)

/** Decodes `messages`, an array. */
export const decode: Decode = (wire) => decodeWire(format, wire, (value) => readChatMessages(aList(value)))

/**
 * Makes a `decode` for messages that arrive in batches. Each call takes the next messages; together
 * they give the same result as one `decode` of all.
 *
 * @example
 * const decode = createChatDecoder()
 * decode([{ role: 'user', content: 'hi' }]) // Right: one message
 */
export const createChatDecoder = (): Decode => {
  const legacy = new LegacyCalls()
  return (messages) => decodeWire(format, messages, (value) => readChatMessages(aList(value), legacy))
}

/** Reads the messages of a request in pieces. */
export const readingOfRequest = (
  messages: readonly Message[] = [],
  legacy: LegacyCalls = new LegacyCalls(),
): ListReading => {
  const all = [...messages]
  return {
    format,
    read: (list) => {
      for (const message of readChatMessages(list, legacy)) all.push(message)
      return all
    },
    copy: () => readingOfRequest(all, legacy.copy()),
  }
}

/** Reads messages that are already frozen JSON. Throws Unexpected. */
const readChatMessages = (wire: readonly Json[], legacy: LegacyCalls = new LegacyCalls()): readonly Message[] =>
  readEach(wire, (message) => readMessage(anObject(message), legacy))

const roles: ReadonlyMap<unknown, Role> = new Map([
  ['system', 'system'],
  ['developer', 'developer'],
  ['user', 'user'],
  ['assistant', 'assistant'],
  ['tool', 'tool'],
  ['function', 'tool'],
])

/** Calls from before calls had ids. Each gets one, and the next result with its name is its answer. */
class LegacyCalls {
  #count = 0
  #waiting = new Map<string, string>()

  copy(): LegacyCalls {
    const same = new LegacyCalls()
    same.#count = this.#count
    same.#waiting = new Map(this.#waiting)
    return same
  }

  call(name: string): string {
    const id = this.#next()
    this.#waiting.set(name, id)
    return id
  }

  /** The id of the answered call, or a new one if there was no call. */
  answer(name: string): { readonly callId: string; readonly asked: boolean } {
    const callId = this.#waiting.get(name)
    this.#waiting.delete(name)
    return { callId: callId ?? this.#next(), asked: callId !== undefined }
  }

  #next(): string {
    return `function_call_${this.#count++}`
  }
}

const readMessage = (wire: JsonObject, legacy: LegacyCalls): Message => {
  const role = roles.get(wire['role'])
  if (role === undefined) throw new Unexpected(['role'], `one of ${[...roles.keys()].join(', ')}`, wire['role'])
  const content = readIn(wire, 'content', (value) => readContent(value, wire['role'] === 'user'))
  return role === 'tool' ? readResult(wire, content, legacy) : readSpoken(role, wire, content, legacy)
}

const readResult = (wire: JsonObject, { parts, written, as }: Content, legacy: LegacyCalls): Message => {
  const isLegacy = wire['role'] === 'function'
  const name = isLegacy || typeof wire['name'] === 'string' ? readIn(wire, 'name', aString) : undefined
  const { callId, asked: isRequested } = isLegacy
    ? legacy.answer(name ?? '')
    : { callId: readIn(wire, 'tool_call_id', aString), asked: true }
  const usual: JsonObject = isLegacy
    ? { role: 'function', name: name ?? '', content: written ?? '' }
    : { role: 'tool', tool_call_id: callId, content: written ?? '' }
  const skip = written === undefined && parts.length > 0 ? ['content'] : []
  return messageOf('tool', [
    resultPart(callId, parts, keep(wire, usual, answerMark(callId, isRequested, as), skip), name),
  ])
}

/** The mark for a result's original form: to a function that was not called, with an invalid id, as parts. */
const answerMark = (callId: string, isRequested: boolean, as: 'parts' | undefined): string | undefined => {
  const kind = isRequested ? (fitsCallId(callId, longestCallId) ? undefined : 'tool') : 'function'
  return kind === undefined || as === undefined ? (kind ?? as) : `${kind} ${as}`
}

const readSpoken = (role: Role, wire: JsonObject, { parts, written, as }: Content, legacy: LegacyCalls): Message => {
  const content: Part[] = [...readReasoning(wire), ...parts]
  const name = stringIn(wire, 'name')
  const usual: { [field: string]: Json } = { role: wire['role'] as string, ...(name !== undefined && { name }) }
  const skip: string[] = []
  if (typeof wire['refusal'] === 'string') {
    content.push(refusalPart(wire['refusal'], mark('field')))
    skip.push('refusal')
  }
  const callsFrom = content.length
  if (Array.isArray(wire['tool_calls']) && wire['tool_calls'].length > 0) {
    for (const call of readIn(wire, 'tool_calls', (calls) => readEach(calls as readonly Json[], readToolCall)))
      content.push(call)
    skip.push('tool_calls')
  }
  if (isObject(wire['function_call'])) {
    content.push(readIn(wire, 'function_call', (call) => readLegacyCall(anObject(call), legacy)))
    skip.push('function_call')
  }
  for (const field of reasoningFields) if (typeof wire[field] === 'string') skip.push(field)
  if (parts.length > 0 && written === undefined) skip.push('content')
  else
    usual['content'] =
      written ?? (role === 'assistant' && (content.length > callsFrom || skip.includes('refusal')) ? null : '')
  return messageOf(role, content, keep(wire, usual, as, skip), undefined, name)
}

/** Plain-text reasoning, as sent by servers compatible with OpenAI's. OpenAI's own chat format has no field for it. */
const reasoningFields = ['reasoning_content', 'reasoning'] as const

const readReasoning = (wire: JsonObject): readonly Part[] => {
  const found: Part[] = []
  for (const field of reasoningFields) {
    const text = wire[field]
    if (typeof text === 'string') found.push(reasoningPart(text, undefined, mark(field)))
  }
  return found
}

interface Content {
  readonly parts: ResultPart[]
  /** The content as encoding would write it, if that is a string. */
  readonly written: string | undefined
  readonly as?: 'parts'
}

const readContent = (wire: Json | undefined, mayHoldFiles: boolean): Content => {
  if (typeof wire === 'string') return { parts: [textPart(wire)], written: wire }
  if (wire === undefined || wire === null) return { parts: [], written: undefined }
  if (!Array.isArray(wire)) throw new Unexpected([], 'a string, null or an array of parts', wire)
  const parts = readEach(wire as readonly Json[], (part) => readPart(anObject(part), mayHoldFiles))
  return { parts: parts as ResultPart[], written: undefined, ...(isOnePlainText(parts) && { as: 'parts' }) }
}

/** A content part. A file or picture where the format allows none is marked `carried`, to be written again. */
const readPart = (wire: JsonObject, mayHoldFiles: boolean): ResultPart | RefusalPart => {
  const carried = mayHoldFiles ? undefined : 'carried'
  if (wire['type'] === 'text') {
    const text = readIn(wire, 'text', aString)
    return textPart(text, keep(wire, { type: 'text', text }))
  }
  if (wire['type'] === 'refusal' && typeof wire['refusal'] === 'string')
    return refusalPart(wire['refusal'], keep(wire, { type: 'refusal', refusal: wire['refusal'] }))
  const image = wire['image_url']
  if (wire['type'] === 'image_url' && isObject(image) && typeof image['url'] === 'string')
    return imagePart(
      sourceOf(image['url']),
      keep(wire, { type: 'image_url', image_url: { url: image['url'] } }, carried),
    )
  return readAudio(wire, carried) ?? readFile(wire, carried) ?? raw(wire)
}

const audioTypes: ReadonlyMap<unknown, string> = new Map([
  ['wav', 'audio/wav'],
  ['mp3', 'audio/mpeg'],
])

/** The format of a media type that is written as audio. */
export const audioFormatOf = (mediaType: string): unknown => [...audioTypes].find(([, type]) => type === mediaType)?.[0]

const readAudio = (wire: JsonObject, carried: string | undefined): FilePart | undefined => {
  const audio = wire['input_audio']
  if (wire['type'] !== 'input_audio' || !isObject(audio) || typeof audio['data'] !== 'string') return undefined
  const mediaType = audioTypes.get(audio['format'])
  if (mediaType === undefined) return undefined
  const { data } = audio
  const written = { type: 'input_audio', input_audio: { data, format: audio['format'] } }
  return filePart(freeze({ type: 'base64', mediaType, data }), undefined, keep(wire, written, carried))
}

const readFile = (wire: JsonObject, carried: string | undefined): FilePart | undefined => {
  const file = wire['file']
  if (wire['type'] !== 'file' || !isObject(file) || typeof file['file_data'] !== 'string') return undefined
  const source = sourceOf(file['file_data'])
  if (source.type !== 'base64' || audioFormatOf(source.mediaType) !== undefined) return undefined // it would be written as audio
  const name = stringIn(file, 'filename')
  const written = {
    type: 'file',
    file: { file_data: file['file_data'], ...(name !== undefined && { filename: name }) },
  }
  return filePart(source, name, keep(wire, written, carried))
}

const readToolCall = (item: Json): ToolCallPart | ProviderPart => {
  const wire = anObject(item)
  if (wire['type'] === 'custom' && isObject(wire['custom'])) {
    const id = readIn(wire, 'id', aString)
    const [name, input] = readIn(wire, 'custom', (custom) => [
      readIn(anObject(custom), 'name', aString),
      readIn(anObject(custom), 'input', aString),
    ])
    return callPart(id, name, input, keep(wire, { type: 'custom', id, custom: { name, input } }, 'custom'))
  }
  const called = wire['function']
  if (!isObject(called)) return freeze({ ...raw(wire), ...mark('tool_call') })
  const id = readIn(wire, 'id', aString)
  // Some servers call a function without its name: no tool can be run for it.
  if ((called['name'] ?? '') === '') return freeze({ ...raw(wire), ...mark('tool_call') })
  const name = readIn(wire, 'function', () => readIn(called, 'name', aString))
  const init = called['arguments']
  const usual = { type: 'function', id, function: { name, ...(isPresent(init) && { arguments: init }) } }
  // Some servers leave them out where there are none.
  if (!isPresent(init)) return callPart(id, name, '', keep(wire, usual, 'bare'))
  // Some servers send the parsed object and expect it back.
  const asObject = isObject(init)
  const args = asObject ? JSON.stringify(init) : readIn(wire, 'function', () => readIn(called, 'arguments', aString))
  const as = asObject ? 'object' : fitsCallId(id, longestCallId) && fitsName(name) ? undefined : 'function'
  return callPart(id, name, args, keep(wire, usual, as))
}

const isPresent = (value: Json | undefined): value is Json => value !== undefined && value !== null

const readLegacyCall = (wire: JsonObject, legacy: LegacyCalls): ToolCallPart => {
  const name = readIn(wire, 'name', aString)
  const args = readIn(wire, 'arguments', aString)
  return callPart(legacy.call(name), name, args, keep(wire, { name, arguments: args }, 'function_call'))
}

const { freeze } = Object
