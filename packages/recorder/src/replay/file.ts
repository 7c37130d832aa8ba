/**
 * The file of a replay: the calls of a test, as JSON for a commit. A message and a run of events are a line each. A call
 * has only the messages that an earlier call lacks, and each tool is in the file once.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import {
  isLeft,
  isObject,
  jsonEqual,
  left,
  parseJson,
  present,
  right,
  utf8Of,
  type Json,
  type JsonObject,
} from 'indelible/internal/json'
import { decodeMessage, toolCallsOf, type Message } from 'indelible/message'
import { AnswerReader, hasAnswer } from '../answers/answer.ts'
import { apis, type Api, type RecordedApi, type Wire } from '../apis/index.ts'
import { identityOf } from '../messages/identity.ts'
import { eventsOfLines, isEventLine, wireEventsOf, type EventLine, type StreamLines } from '../answers/stream-lines.ts'
import { redactedArguments, redactionMark, type RecordedCall, type RecordedReply } from './recorded-calls.ts'

/** A call of a file. */
export interface FileCall {
  readonly request: FileRequest
  readonly reply: FileReply
}

/** A request. `null`: it has no such field. */
export interface FileRequest {
  readonly api: RecordedApi
  readonly model: string
  readonly parameters: JsonObject
  readonly tools: Json
  readonly system: Json
  readonly messages: readonly Message[]
  /** The response that it continues, if `messages` has only those after it. */
  readonly previous?: string
}

/** A reply: a stream, or else a body. `error` says why nothing came, or why it broke off. */
export interface FileReply {
  readonly status?: number
  readonly retryAfter?: string
  readonly body?: Json
  readonly stream?: StreamLines
  readonly error?: string
}

const format = 'indelible-replay'
const version = 1
const settings = ['api', 'model', 'parameters', 'tools', 'system'] as const

/** How to make a file anew, for messages. */
export const recordFileAnew = 'record it anew with INDELIBLE_REPLAY=record'

/** The text of a file. Equal calls have equal texts. Cost: O(messages of all calls). */
export const textOfReplay = (calls: readonly FileCall[]): string => {
  const tools: Json[] = []
  const indexes = new Map<string, number>()
  const indexOf = (tool: Json): number => {
    const text = JSON.stringify(tool)
    if (!indexes.has(text)) indexes.set(text, tools.push(tool) - 1)
    return indexes.get(text) as number
  }
  const earlier: Conversation[] = []
  const texts = calls.map(({ request, reply }, index) => {
    const { base, len } = baseOf(request, earlier)
    earlier.push(new Conversation(index, { request, reply }))
    const lines = settings.flatMap((field) => {
      const value = request[field]
      if (base === undefined ? value === null : jsonEqual(value, base.call.request[field])) return []
      return [fieldText(field, field === 'tools' && Array.isArray(value) ? value.map(indexOf) : value)]
    })
    const { stream, ...rest } = reply
    if (request.previous !== undefined) lines.push(fieldText('previous', request.previous))
    if (base !== undefined) lines.unshift(fieldText('continues', base.index + 1), fieldText('from', len))
    const ends = Object.entries(rest).map(([field, value]) => fieldText(field, value))
    if (stream?.named === true) ends.push(fieldText('named', true))
    if (stream !== undefined) ends.push(`"events":${linesText(stream.events)}`)
    const messages = `"messages":${linesText(request.messages.slice(len))}`
    return `{${[fieldText('call', index + 1), ...lines].join(',')},\n${[messages, ...ends].join(',')}}`
  })
  const head = [fieldText('format', format), fieldText('version', version)].join(',')
  return `{${head},\n"tools":${linesText(tools)},\n"calls":[\n${texts.join(',\n')}\n]}\n`
}

const fieldText = (field: string, value: unknown): string => `${JSON.stringify(field)}:${JSON.stringify(value)}`

const linesText = (values: readonly unknown[]): string =>
  values.length === 0 ? '[]' : `[\n${values.map((value) => JSON.stringify(value)).join(',\n')}\n]`

/** The messages of a call, then those of its answer, which are read when they are needed. */
class Conversation {
  readonly index: number
  readonly call: FileCall
  #all: readonly Message[] | undefined

  constructor(index: number, call: FileCall) {
    this.index = index
    this.call = call
  }

  get all(): readonly Message[] {
    return (this.#all ??= [...this.call.request.messages, ...answerMessages(this.call)])
  }
}

/** The number of earlier calls to look at: agents work side by side, but not many. */
const mostBases = 32

/** The earlier call with the most messages that this one repeats, and their number. */
const baseOf = (
  { api, messages }: FileRequest,
  earlier: readonly Conversation[],
): { readonly base: Conversation | undefined; readonly len: number } => {
  let [base, most]: [Conversation | undefined, number] = [undefined, 0]
  for (const conversation of earlier.slice(-mostBases).toReversed()) {
    const { request } = conversation.call
    if (request.api !== api) continue
    let len = 0
    while (len < request.messages.length && len < messages.length && jsonEqual(request.messages[len], messages[len]))
      len++
    const isWhole = len === request.messages.length
    // An echo of the answer may be spelled in another way.
    if (isWhole) while (isSame(conversation.all[len], messages[len])) len++
    if (len > most) [base, most] = [conversation, len]
    if (isWhole && len > 0) break
  }
  return { base, len: most }
}

const isSame = (a: Message | undefined, b: Message | undefined): boolean =>
  a !== undefined && b !== undefined && identityOf(a) === identityOf(b)

/** The messages of an answer; none of one that can't be read. */
const answerMessages = ({ request, reply }: FileCall): readonly Message[] => {
  if (reply.status !== 200) return []
  const reader = new AnswerReader(apiNamed(request.api) as Api, undefined)
  reader.take(utf8Of(JSON.stringify(bodyOf(request.api, reply) ?? null)))
  return reader.end(request.messages).messages
}

/** The body of a reply; of a stream, the body that its events make together. */
const bodyOf = (api: RecordedApi, { stream, body }: FileReply): Json | undefined => {
  if (stream === undefined) return body
  const { eventIn = (event: Wire) => event, join } = apiNamed(api) as Api
  const joined = join()
  for (const { data } of eventsOfLines(stream))
    if (typeof data !== 'string') joined.take(eventIn(structuredClone(data) as Wire)) // it changes its events
  return joined.body as Json | undefined
}

const apiNamed = (name: unknown): Api | undefined => apis.find((api) => api.name === name)

/**
 * The calls of a file's text. Messages that calls share are the same objects.
 *
 * @param name the file's name, for the fault
 * @returns the calls, or a sentence that names the line and what to do
 */
export const readReplay = (content: string, name: string): Either<string, readonly FileCall[]> => {
  const text = content.replace(/^\uFEFF/, '') // some editors begin a file with it
  const fault = (line: number, reason: string): Either<string, never> =>
    left(`${name}, line ${line}: ${reason}; ${recordFileAnew}`)
  const lines = text.split('\n')
  const mark = lines.findIndex((line) => /^(?:<{7}|\|{7}|={7}|>{7})(?: |\r?$)/.test(line))
  if (mark >= 0) return fault(mark + 1, `has the mark of a merge conflict (${(lines[mark] as string).slice(0, 7)})`)
  if (text.trim() === '') return fault(1, 'the file is empty')
  const parsed = parseJson(text)
  const isOurs = /^\s*\{\s*"format"\s*:\s*"indelible-replay"/.test(text)
  if (isLeft(parsed)) {
    const { line, column } = parsed.left
    if (!isOurs) return fault(1, 'this is no replay file: it does not begin with {"format":"indelible-replay"')
    const isCut = text.slice(lines.slice(0, line - 1).join('\n').length + column).trim() === ''
    return fault(line, isCut ? 'the file ends in the middle' : `is not JSON at column ${column}`)
  }
  const file = parsed.right
  if (!isObject(file) || file['format'] !== format)
    return fault(1, `this is no replay file: its format is not "${format}"`)
  if (file['version'] !== version)
    return fault(1, `this version reads replay files of version ${version}, not ${JSON.stringify(file['version'])}`)
  const { tools, calls } = file
  if (!Array.isArray(tools) || !Array.isArray(calls)) return fault(1, 'expected the lists "tools" and "calls"')
  const read: Conversation[] = []
  for (const [index, call] of calls.entries()) {
    const result = readCall(call, index, tools, read)
    if (isLeft(result)) {
      const number = new RegExp(`(?<!\\\\)"call"\\s*:\\s*${index + 1}\\b`)
      const line = lines.findIndex((text) => number.test(text))
      const list = lines.findIndex((text) => /(?<!\\)"calls"\s*:/.test(text))
      return fault(Math.max(line === -1 ? list : line, 0) + 1, `call ${index + 1} ${result.left}`)
    }
    read.push(new Conversation(index, result.right))
  }
  return right(read.map(({ call }) => call))
}

const readCall = (
  call: unknown,
  index: number,
  tools: readonly unknown[],
  earlier: readonly Conversation[],
): Either<string, FileCall> => {
  if (!isObject(call) || call['call'] !== index + 1) return left(`is not numbered ${index + 1}`)
  const { continues, from = 0, messages } = call
  const base = earlier[Number(continues) - 1]
  if (continues !== undefined && base === undefined)
    return left(`continues ${JSON.stringify(continues)}, no call before it`)
  const known = base?.all.slice(0, Number(from)) ?? []
  if (known.length !== from) return left(`continues after ${JSON.stringify(from)} messages, which are not there`)
  if (!Array.isArray(messages)) return left('has no list "messages"')
  const own: Message[] = []
  for (const [at, message] of messages.entries()) {
    const decoded = decodeMessage(message)
    if (isLeft(decoded)) return left(`has a message that can't be read, the ${at + 1}. of its own`)
    own.push(decoded.right)
  }
  const setting = (field: (typeof settings)[number]): unknown =>
    call[field] ?? (field in call ? null : base?.call.request[field])
  const api = setting('api')
  const model = setting('model')
  const parameters = setting('parameters') ?? {}
  if (apiNamed(api) === undefined) return left(`has the unknown "api" ${JSON.stringify(api)}`)
  if (typeof model !== 'string') return left('has no "model"')
  if (!isObject(parameters)) return left('has "parameters" that are no object')
  const { tools: ownTools = null } = call
  if (ownTools !== null && !Array.isArray(ownTools)) return left('has "tools" that are no list')
  const named = Array.isArray(ownTools) ? ownTools.map((tool) => tools[Number(tool)]) : setting('tools')
  if (Array.isArray(named) && named.includes(undefined)) return left('names a tool that the file does not have')
  const reply = readReply(call)
  if (isLeft(reply)) return reply
  return right({
    request: {
      api: api as RecordedApi,
      model,
      parameters: parameters as JsonObject,
      tools: (named ?? null) as Json,
      system: (setting('system') ?? null) as Json,
      messages: [...known, ...own],
      ...(typeof call['previous'] === 'string' && { previous: call['previous'] }),
    },
    reply: reply.right,
  })
}

const readReply = ({
  status,
  retryAfter,
  body,
  events,
  named = false,
  error,
}: JsonObject): Either<string, FileReply> => {
  if (status === undefined && error === undefined) return left('has neither a "status" nor an "error"')
  if (status !== undefined && body === undefined && events === undefined)
    return left('has neither a "body" nor "events"')
  if (error !== undefined && typeof error !== 'string') return left('has an "error" that is no text')
  if (retryAfter !== undefined && !(typeof retryAfter === 'string' && /^[\t -~]*$/.test(retryAfter)))
    return left('has a "retryAfter" that is no header')
  if (status !== undefined && !(Number.isInteger(status) && Number(status) >= 200 && Number(status) <= 599))
    return left(`has the "status" ${JSON.stringify(status)}`)
  if (events !== undefined && !(Array.isArray(events) && events.every(isEventLine)))
    return left("has events that can't be read")
  return right({
    ...(status !== undefined && { status: status as number }),
    ...(body !== undefined && { body }),
    ...(events !== undefined && { stream: { named: named === true, events: events as readonly EventLine[] } }),
    ...present({ retryAfter, error }),
  })
}

/** The calls of a file as replay needs them. */
export const recordedCallsOf = (calls: readonly FileCall[], name: string): readonly RecordedCall[] => {
  const isContinued = calls.some(({ request }) => request.previous !== undefined)
  return calls.map((call, index) => {
    const id = isContinued ? idOf(call) : undefined
    return {
      name: `call ${index + 1} of ${name}`,
      request: call.request,
      ...(id !== undefined && { response: { id, messages: answerMessages(call) } }),
      answer: () => Promise.resolve(replyOf(call)),
    }
  })
}

const idOf = ({ request, reply }: FileCall): string | undefined => {
  const body = bodyOf(request.api, reply)
  return isObject(body) ? apiNamed(request.api)?.id(body as Wire) : undefined
}

/** The body to reply with. One without an answer that was sent whole is a text, so that no events are made of it. */
const bodyFor = (api: RecordedApi, reply: FileReply): Json => {
  const body = bodyOf(api, reply) ?? null
  const isAsIs = reply.stream !== undefined || typeof body === 'string' || Number(reply.status) >= 400
  return isAsIs || hasAnswer(apiNamed(api) as Api, body) ? body : JSON.stringify(body)
}

const replyOf = (call: FileCall): RecordedReply => {
  const { request, reply } = call
  const { status, retryAfter, stream, error } = reply
  if (status === undefined) return { _tag: 'NoReply', error: error ?? 'no answer came' }
  if (redactionMark.test(JSON.stringify(stream?.events ?? reply.body ?? null)))
    for (const called of answerMessages(call).flatMap((message) => toolCallsOf(message)))
      if (redactionMark.test(called.arguments)) return { _tag: 'NotReplayable', reason: redactedArguments(called) }
  return {
    _tag: 'Reply',
    status,
    ...present({ retryAfter, cut: error }),
    body: bodyFor(request.api, reply),
    ...(stream && { events: wireEventsOf(stream) }),
    firstByte: 0,
    duration: 0,
  }
}
