/**
 * The session file of Gemini CLI: one JSON object with all messages or, in later versions, a line for
 * each event: a header, messages, `$set` of header fields or of all messages, `$rewindTo` a message.
 * A changed message is written again under its id; its last state counts, in its first position.
 *
 * A model message holds its thoughts, text, calls and their results. Later versions repeat a result
 * in a user message; it is read once, with its call.
 *
 * Source  google-gemini/gemini-cli, packages/core/src/services: chatRecordingTypes.ts, chatRecordingService.ts (2026-09); files of
 *         version 0.61
 */
import {
  arrayAt,
  difference,
  fieldsBeside,
  isObject,
  objectAt,
  readIn,
  stringAt,
  type Json,
  type JsonObject,
} from 'indelible/internal/json'
import { CallReader, sourceOf } from 'indelible/internal/codecs'
import type { Message, Part, ResultPart, ToolCallPart, ToolResultPart } from 'indelible/message'
import { countAnswer, geminiUse } from '../format/call-counts.ts'
import { countsIn } from '../format/format-facts.ts'
import { metaOf } from '../format/other-fields.ts'
import type { Ending, LineFormat, Sink } from '../format/line-format.ts'
import { count, objectIn, textIn, textsAmong } from '../format/origin.ts'
import { unknownLine } from '../format/unknown-line.ts'
import type { EntryAtLine } from '../format/read-problems.ts'

const format = 'gemini-cli'

const messageTypes: ReadonlySet<unknown> = new Set(['user', 'gemini', 'info', 'error', 'warning'])

const isHeader = (entry: JsonObject): boolean =>
  typeof entry['sessionId'] === 'string' && typeof entry['projectHash'] === 'string'

const isMessage = (entry: JsonObject): boolean => typeof entry['id'] === 'string' && messageTypes.has(entry['type'])

export const geminiCli: LineFormat = {
  format,
  signatures: [
    ['id', 'timestamp', 'type', 'content'],
    ['sessionId', 'projectHash', 'messages'],
  ],
  spansLines: true,
  countsOf: countsIn(format, (own) => {
    const { input, cached, output, thoughts } = objectIn(own, 'tokens')
    return geminiUse(own['model'], input, cached, count(output) + count(thoughts))
  }),
  matches: (entry) =>
    isHeader(entry) || (isMessage(entry) && 'content' in entry && typeof entry['timestamp'] === 'string'),
  reader: (sink) => new Reader(sink),
}

class Reader {
  readonly #sink: Sink
  #header: JsonObject = {}
  #messages = new Map<string, EntryAtLine>()
  /** The results written so far, by call id. */
  readonly #results = new Map<string, string>()
  readonly #calls = new CallReader(0)

  constructor(sink: Sink) {
    this.#sink = sink
  }

  read(entry: JsonObject, line: number): void {
    const { $set: set, $rewindTo: target } = entry
    if (typeof target === 'string') return this.#rewind(target)
    if (isMessage(entry)) return this.#place(entry, line)
    if (isObject(set)) {
      this.#sink.aside('$set')
      return this.#describe(set, line)
    }
    if (isHeader(entry)) return this.#describe(entry, line)
    unknownLine(entry, line, this.#sink)()
  }

  end(): Ending {
    const { origin } = this.#sink
    const { startTime, lastUpdated } = this.#header
    origin.time(startTime)
    const times = textsAmong(this.#header, 'startTime', 'lastUpdated')
    origin.describe(this.#header, { id: 'sessionId', title: 'summary' }, times)
    for (const { entry, line } of this.#messages.values()) this.#write(entry, line)
    origin.time(lastUpdated)
    return {}
  }

  #describe(fields: JsonObject, line: number): void {
    const { messages, ...others } = fields
    if (Object.keys(others).some((name) => Object.hasOwn(this.#header, name) && this.#header[name] !== others[name]))
      this.#sink.aside('earlier state of the header')
    this.#header = { ...this.#header, ...others }
    if (messages === undefined) return
    const listed = arrayAt(messages, ['messages']).map((message) => ({ entry: objectAt(message, ['messages']), line }))
    if (listed.length === 0) return
    if (this.#messages.size > 0) this.#sink.origin.aside('earlier state of a message', this.#messages.size)
    // All messages, as of this line.
    this.#messages = new Map(listed.map((placed, index) => [textIn(placed.entry, 'id') ?? `\n${index}`, placed]))
  }

  #place(entry: JsonObject, line: number): void {
    const id = stringAt(entry['id'], ['id'])
    if (this.#messages.has(id)) this.#sink.aside('earlier state of a message')
    this.#messages.set(id, { entry, line })
  }

  /** Take back the messages from `target` on; all of them if it is unknown. */
  #rewind(target: string): void {
    this.#sink.aside('$rewindTo')
    const ids = [...this.#messages.keys()]
    const back = ids.slice(Math.max(0, ids.indexOf(target)))
    for (const id of back) this.#messages.delete(id)
    if (back.length > 0) this.#sink.origin.aside('message that was taken back', back.length)
  }

  /** Write a user message, or the results in one. Results already written with their calls are skipped. */
  #writeUser(entry: JsonObject, line: number): void {
    const parts = contentOf(entry)
    const results = parts.map((part) => resultIn(part, this.#calls))
    if (results.length === 0 || !results.every((result) => result !== undefined))
      return void this.#sink.message(line, messageOf(entry, { role: 'user', content: parts }))
    if (results.every((result) => this.#results.get(result.callId) === resultText(result)))
      return this.#sink.aside('result that is told with its call')
    this.#sink.message(line, this.#withResults(messageOf(entry, { role: 'tool', content: results })))
  }

  #withResults(message: Message): Message {
    for (const part of message.content)
      if (part.type === 'tool_result') this.#results.set(part.callId, resultText(part))
    return message
  }

  /** Write one message. If it can't be read, it is damage. */
  #write(entry: JsonObject, line: number): void {
    const { origin } = this.#sink
    const { type } = entry
    this.#sink.attempt(line, () => {
      if (type === 'user') this.#writeUser(entry, line)
      else if (type === 'gemini') {
        origin.model(entry['model'])
        for (const message of modelMessages(entry, origin, this.#calls)) {
          countAnswer(origin, geminiCli, message, { time: entry['timestamp'] })
          this.#sink.message(line, this.#withResults(message))
        }
      } else if (messageTypes.has(type)) this.#sink.entry(line, entry)
      else unknownLine(entry, line, this.#sink)()
    })
  }
}

/** A message with the id and the other fields of an entry. */
const messageOf = (entry: JsonObject, message: Message, ...known: readonly string[]): Message => ({
  ...message,
  ...(typeof entry['id'] === 'string' && { id: entry['id'] }),
  ...metaOf(format, fieldsBeside(entry, ['type', 'content', ...textsAmong(entry, 'id'), ...known])),
})

/** The assistant's message, and a message for each result of its calls. */
const modelMessages = (entry: JsonObject, origin: Sink['origin'], reader: CallReader): readonly Message[] => {
  reader.turn()
  const thoughts = entry['thoughts'] === undefined ? [] : readIn(entry, 'thoughts', (list) => arrayAt(list ?? [], []))
  const calls = (entry['toolCalls'] === undefined ? [] : arrayAt(entry['toolCalls'], ['toolCalls'])).map(
    (call, index) => readCall(objectAt(call, ['toolCalls', index]), index),
  )
  for (const { part } of calls) reader.call(part.id, part.name)
  const content: Part[] = thoughts.map(readThought)
  for (const part of contentOf(entry)) {
    const call = callIn(part)
    if (call !== undefined && hasResult(call, calls)) origin.aside('call that is told with its message')
    else content.push(call === undefined ? part : { ...call, id: reader.call(call.id || undefined, call.name) })
  }
  const message: Message = { role: 'assistant', content: [...content, ...calls.map(({ part }) => part)] }
  return [
    messageOf(entry, message, 'thoughts', 'toolCalls'),
    ...calls.flatMap(({ call }, index) => readResult(call, index, calls, origin, entry)),
  ]
}

/** A call from a message's list of calls, and its part. */
interface ReadCall {
  readonly call: JsonObject
  part: ToolCallPart
}

/** The call in a content part, with an empty id if it has none; undefined if the part holds no call. */
const callIn = (part: ResultPart): ToolCallPart | undefined => {
  const call = part.type === 'provider' && isObject(part.raw) ? part.raw['functionCall'] : undefined
  if (part.type !== 'provider' || !isObject(part.raw) || !isObject(call)) return undefined
  const { id = '', name, args } = call
  if (typeof id !== 'string' || typeof name !== 'string') return undefined
  const written = { ...(id !== '' && { id }), name, ...(args !== undefined && { args }) }
  const rest = difference(part.raw, { functionCall: written })
  return { type: 'tool_call', id, name, arguments: JSON.stringify(args ?? {}), ...metaOf(format, rest) }
}

/**
 * Whether the call is also in the message's list of calls, as in a message that was rewritten when its
 * session was resumed. If so, extra fields of this part, such as a signature, are added to the listed call.
 */
const hasResult = (call: ToolCallPart, calls: readonly ReadCall[]): boolean => {
  const match = calls.find(
    ({ part }) =>
      (call.id === '' || part.id === call.id) && part.name === call.name && part.arguments === call.arguments,
  )
  if (match === undefined) return false
  const [beside, own] = [call, match.part].map(({ meta }) => meta?.[format] as JsonObject | undefined)
  if (beside !== undefined) match.part = { ...match.part, ...metaOf(format, { ...beside, ...own }) }
  return true
}

/** The tool result in a part of a user message. */
const resultIn = (part: ResultPart, calls: CallReader): ToolResultPart | undefined => {
  const answer = part.type === 'provider' && isObject(part.raw) ? part.raw['functionResponse'] : undefined
  if (part.type !== 'provider' || !isObject(answer)) return undefined
  const { id, name } = answer
  if ((id !== undefined && typeof id !== 'string') || typeof name !== 'string') return undefined
  const written = { ...(id !== undefined && { id }), name }
  return { type: 'tool_result', callId: calls.result(id, name), name, content: [answerOf(part.raw, written)] }
}

const resultText = ({ content }: ToolResultPart): string => JSON.stringify(content)

const readThought = (thought: Json): Part => {
  if (!isObject(thought) || typeof thought['description'] !== 'string') return raw(thought)
  return {
    type: 'reasoning',
    text: thought['description'],
    ...metaOf(format, fieldsBeside(thought, ['description'])),
  }
}

/** A call without its result, but with its other fields: its state, and what the screen showed. */
const readCall = (call: JsonObject, index: number): ReadCall => {
  const at = ['toolCalls', index]
  const { args } = call
  const part: ToolCallPart = {
    type: 'tool_call',
    id: stringAt(call['id'], [...at, 'id']),
    name: stringAt(call['name'], [...at, 'name']),
    arguments: JSON.stringify(args ?? {}),
    ...metaOf(format, fieldsBeside(call, ['id', 'name', 'args', 'result'])),
  }
  return { call, part }
}

/** The result of a call. A resumed session repeats all results at each call; only the call's own is read. */
const readResult = (
  call: JsonObject,
  index: number,
  calls: readonly ReadCall[],
  origin: Sink['origin'],
  entry: JsonObject,
): readonly Message[] => {
  const { result, id, name, status } = call
  if (result === undefined || result === null) return []
  const timestamp = call['timestamp'] ?? entry['timestamp']
  const isError = status === 'error' || status === 'cancelled'
  const others = new Set(
    calls.flatMap((call) => (call.part.id === id || (call.call['result'] ?? null) === null ? [] : [call.part.id])),
  )
  const content = readParts(result, ['toolCalls', index, 'result']).flatMap((part) => {
    const answer = isObject(part) ? part['functionResponse'] : undefined
    if (!isObject(answer) || !others.has(answer['id'] as string)) return [answerOf(part, call)]
    origin.aside('result that is told with its call')
    return []
  })
  return [
    {
      role: 'tool',
      content: [
        {
          type: 'tool_result',
          callId: id as string,
          name: name as string,
          content,
          ...(isError && { isError }),
        },
      ],
      // A message is written when the model answers, each of its calls when the call finishes.
      ...metaOf(format, typeof timestamp === 'string' ? { timestamp } : undefined),
    },
  ]
}

/** A part of a result. A response that is a single text is read as that text. */
const answerOf = (part: Json, { id, name = '' }: JsonObject): ResultPart => {
  const answer = isObject(part) ? part['functionResponse'] : undefined
  if (!isObject(part) || !isObject(answer)) return readPart(part)
  const response = objectIn(answer, 'response')
  for (const field of ['output', 'error']) {
    const text = response[field]
    if (typeof text !== 'string' || Object.keys(response).length > 1) continue
    const written = { ...(id !== undefined && { id }), name, response: { [field]: text } }
    const rest = difference(part, { functionResponse: written })
    return { type: 'text', text, ...metaOf(format, rest) }
  }
  return raw(part)
}

const contentOf = ({ content }: JsonObject): readonly ResultPart[] =>
  content === '' || content === undefined ? [] : readParts(content, ['content']).map(readPart)

/** A text, a part, or a list of either. */
const readParts = (content: Json, path: readonly (string | number)[]): readonly Json[] => {
  if (typeof content === 'string' || isObject(content)) return [content]
  return arrayAt(content, path)
}

const readPart = (part: Json): ResultPart => {
  if (typeof part === 'string') return { type: 'text', text: part }
  if (!isObject(part)) return raw(part)
  if (typeof part['text'] === 'string' && part['thought'] !== true)
    return { type: 'text', text: part['text'], ...metaOf(format, fieldsBeside(part, ['text'])) }
  const data = objectIn(part, 'inlineData')
  if (typeof data['data'] === 'string' && typeof data['mimeType'] === 'string') {
    const source = { type: 'base64', mediaType: data['mimeType'], data: data['data'] } as const
    const rest = difference(part, { inlineData: { data: source.data, mimeType: source.mediaType } })
    return { type: source.mediaType.startsWith('image/') ? 'image' : 'file', source, ...metaOf(format, rest) }
  }
  const uri = textIn(objectIn(part, 'fileData'), 'fileUri')
  if (uri === undefined) return raw(part)
  return { type: 'file', source: sourceOf(uri), ...metaOf(format, difference(part, { fileData: { fileUri: uri } })) }
}

const raw = (value: Json): ResultPart => ({ type: 'provider', provider: format, raw: value })
