/** Decodes OpenAI Responses items. */
import {
  anObject,
  aString,
  isObject,
  readEach,
  readIn,
  Unexpected,
  type Json,
  type JsonObject,
  type Path,
  ownField,
  ownFields,
} from '../../json/index.ts'
import { decodeWire, lossesForUnread, type ListReading } from '../admit.ts'
import { isOnePlainText } from '../content.ts'
import { fitsCallId, fitsName } from '../call-ids.ts'
import type { Decode, Loss } from '../codec.ts'
import type { Message, ReasoningPart, ResultPart, Role, ToolCallPart, ToolResultPart } from '../../message/index.ts'
import { contentOf, isAgentsItem, isText, ItemReading, readingOf, speakers, textsIn } from '../items-reading.ts'
import { callPart, filePart, imagePart, messageOf, resultPart, stringIn, textPart } from '../parts.ts'
import { sourceOf, type Resolved } from '../source.ts'
import * as items from './items.ts'
import { functionCall, kindOfCall, kindOfOutput, longestCallId, type CallKind } from './kinds.ts'

export const format = 'openai-responses'

/**
 * Decodes items, the text of one user message, or a request or response body. Other fields of a
 * body are listed as losses.
 */
export const decode: Decode = (wire) => decodeWire(format, wire, readBody, (value) => listOf(value) ?? [])

/** The path to a body's items. */
const listOf = (wire: Json): Path | undefined => {
  if (!isObject(wire)) return undefined
  if (Array.isArray(wire['output'])) return ['output']
  return wire['input'] === undefined ? undefined : ['input']
}

const readBody = (wire: Json, beside: Loss[]): readonly Message[] => {
  if (typeof wire === 'string') return [messageOf('user', [textPart(wire)])]
  if (Array.isArray(wire)) return readItems(wire as readonly Json[])
  const [field] = listOf(wire) ?? []
  if (!isObject(wire) || typeof field !== 'string')
    throw new Unexpected([], 'a list of items, or a body with output or input', wire)
  const messages = readIn(wire, field, (list) => {
    if (typeof list !== 'string' && !Array.isArray(list)) throw new Unexpected([], 'a string or a list of items', list)
    return readBody(list, beside)
  })
  const isRequest = field !== 'output'
  beside.push(
    ...lossesForUnread(wire, isRequest ? [field, 'instructions'] : [field], isRequest ? 'request' : 'response'),
  )
  // A response repeats the request's instructions, which are not part of its output.
  if (!isRequest || wire['instructions'] === undefined || wire['instructions'] === null) return messages
  return [messageOf('system', [textPart(readIn(wire, 'instructions', aString))]), ...messages]
}

/** Reads items that are already frozen JSON. Throws Unexpected. */
const readItems = (wire: readonly Json[]): readonly Message[] => {
  const reading = new Reading()
  readEach(wire, (item) => readItem(anObject(item), reading))
  return reading.end()
}

/** Reads the items of a request in pieces. */
export const readingOfRequest = (before?: Reading): ListReading => {
  const reading = new Reading(before)
  return {
    format,
    read: (list) => {
      readEach(list, (item) => readItem(anObject(item), reading))
      return reading.messages()
    },
    copy: () => readingOfRequest(reading),
  }
}

/** A call: its kind, whether OpenAI runs it, and the program that made it. */
interface Call {
  readonly kind: CallKind
  readonly hosted: boolean
  readonly caller: Json | undefined
}

class Reading extends ItemReading<Call> {
  /** The call ids of local shell calls by item id, which outputs may use instead. */
  readonly localShell: Map<string, string>

  constructor(before?: Reading) {
    super(before)
    this.localShell = new Map(before?.localShell)
  }
}

const readItem = (wire: JsonObject, reading: Reading): void => {
  const { type } = wire
  // As Responses items they would be opaque, hiding calls without results.
  if (isAgentsItem(wire))
    throw new Unexpected(
      [],
      'an OpenAI Responses item; for Agents SDK items use openaiAgents from @indelible/codecs/openai-agents',
      wire,
    )
  if (type === 'message' || (type === undefined && wire['role'] !== undefined)) return readMessage(wire, reading)
  if (type === 'reasoning') return reading.say(readReasoning(wire))
  const asking = kindOfCall.get(type)
  if (asking !== undefined && pairs(wire, asking.id)) {
    const call = readCall(wire, asking, reading)
    if (call !== undefined) return reading.say(call)
  }
  const answering = kindOfOutput.get(type)
  if (answering !== undefined && pairs(wire, answering.outputId)) {
    const result = readOutput(wire, answering, reading)
    // OpenAI ran it before the assistant continued, so the result stays among the assistant's parts.
    if (reading.calls.get(result.callId)?.hosted === true) return reading.say(result)
    return reading.add(messageOf('tool', [result]))
  }
  // An item without a type is a reference by id.
  if (typeof type !== 'string' && typeof wire['id'] !== 'string')
    throw new Unexpected(['type'], 'the type of an item', type)
  const by = speakers.get(wire['role']) ?? ofClients.get(type)
  if (by === undefined) return reading.say(raw(wire))
  reading.add(messageOf(by, [raw(wire)], mark('item')))
}

/**
 * Items without a role that only clients write, with their speakers. Another agent's message counts as the user's.
 *
 * Source  OpenAI API reference, Responses: input items; Codex 0.169.0 on loopback (2026-11)
 */
const ofClients: ReadonlyMap<unknown, Role> = new Map([
  ['compaction_trigger', 'developer'],
  ['configuration_update', 'developer'],
  ['agent_message', 'user'],
])

/** Whether the item refers to a call that the client answers. A tool search run by OpenAI does not. */
const pairs = (wire: JsonObject, id: string): boolean => {
  if (wire['type'] === 'local_shell_call_output')
    return typeof wire['call_id'] === 'string' || typeof wire['id'] === 'string'
  if (wire['type'] === 'mcp_approval_response' && typeof wire['approve'] !== 'boolean') return false
  return typeof wire[id] === 'string' && (wire['execution'] === undefined || wire['execution'] === 'client')
}

const readMessage = (wire: JsonObject, reading: Reading): void => {
  const content = contentOf(wire)
  const role = speakers.get(wire['role'])
  if (role !== undefined) return reading.add(readSpoken(role, wire, content))
  if (wire['role'] !== 'assistant' && wire['type'] === undefined)
    throw new Unexpected(['role'], 'one of system, developer, user, assistant', wire['role'])
  for (const part of wire['role'] === 'assistant' ? readSaid(wire, content) : [raw(wire)]) reading.say(part)
}

const readSpoken = (role: Role, wire: JsonObject, content: string | readonly Json[]): Message => {
  if (typeof content === 'string')
    return messageOf(role, [textPart(content)], keep(wire, items.messageItem(role, content)))
  const { parts, as } = readIn(wire, 'content', () => readParts(content, true))
  return messageOf(role, parts, keep(wire, items.messageItem(role, ''), as, parts.length === 0 ? [] : ['content']))
}

/** Input parts. A single plain text is marked, because encoding would write it as a string. */
const readParts = (
  list: readonly Json[],
  mayHoldAudio: boolean,
): { readonly parts: ResultPart[]; readonly as?: 'parts' } => {
  const parts = readEach(list, (part) => readPart(anObject(part), mayHoldAudio))
  return { parts, ...(isOnePlainText(parts) && { as: 'parts' }) }
}

const readPart = (wire: JsonObject, mayHoldAudio: boolean): ResultPart => {
  if (isText(wire)) return textPart(wire.text, keep(wire, items.inputText(wire.text)))
  if (wire['type'] === 'input_image' && typeof wire['image_url'] === 'string') {
    const source = sourceOf(wire['image_url'])
    return imagePart(source, keep(wire, items.inputImage(source)))
  }
  return readFile(wire) ?? (mayHoldAudio ? readAudio(wire) : undefined) ?? raw(wire)
}

const readFile = (wire: JsonObject): ResultPart | undefined => {
  if (wire['type'] !== 'input_file') return undefined
  const name = stringIn(wire, 'filename')
  const source =
    typeof wire['file_data'] === 'string'
      ? sourceOf(wire['file_data'])
      : typeof wire['file_url'] === 'string'
        ? freeze({ type: 'url' as const, url: wire['file_url'] })
        : undefined
  // Bytes of unknown type, and audio, would not be written as a file.
  if (source === undefined || (source.type === 'url' && typeof wire['file_data'] === 'string') || isAudio(source))
    return undefined
  return filePart(source, name, keep(wire, items.inputFile(source, name)))
}

const readAudio = (wire: JsonObject): ResultPart | undefined => {
  const audio = wire['input_audio']
  if (wire['type'] !== 'input_audio' || !isObject(audio) || typeof audio['data'] !== 'string') return undefined
  const mediaType = audio['format'] === 'wav' ? 'audio/wav' : audio['format'] === 'mp3' ? 'audio/mpeg' : undefined
  if (mediaType === undefined) return undefined
  const { data } = audio
  const source = freeze({ type: 'base64', mediaType, data } as const)
  return filePart(source, undefined, keep(wire, items.inputAudio(data, mediaType), 'audio'))
}

const isAudio = (source: Resolved): boolean => source.type === 'base64' && source.mediaType.startsWith('audio/')

/** Reasoning is always marked, because other providers' reasoning can't be sent to this one. */
const readReasoning = (wire: JsonObject): ReasoningPart => {
  const summary = textsIn(wire['summary'])
  const part = {
    type: 'reasoning',
    text: textsIn(wire['content']).join(''),
    ...(summary.length > 0 && { summary: freeze(summary) }),
    ...(typeof wire['encrypted_content'] === 'string' && { encrypted: wire['encrypted_content'] }),
  } as const
  return freeze({ ...part, ...keep(wire, items.reasoningItem(part), 'reasoning') })
}

const readCall = (wire: JsonObject, kind: CallKind, reading: Reading): ToolCallPart | undefined => {
  const action = kind.call === 'computer_call' && Array.isArray(wire['actions']) ? wire['actions'] : wire[kind.asks]
  if (
    ownField(kind, 'asText') !== true &&
    (action === undefined ||
      (ownField(kind, 'name') !== 'tool_search' && typeof action !== 'object') ||
      action === null)
  )
    return undefined
  const id = aString(wire[kind.id])
  const name = ownField(kind, 'name') ?? readIn(wire, 'name', aString)
  const args = ownField(kind, 'asText') === true ? readIn(wire, kind.asks, aString) : JSON.stringify(action)
  const { environment } = wire
  reading.calls.set(id, {
    kind,
    hosted: isObject(environment) && environment['type'] === 'container_reference',
    caller: wire['caller'],
  })
  if (kind.call === 'local_shell_call' && typeof wire['id'] === 'string') reading.localShell.set(wire['id'], id)
  // Mark ids and names that encoding would change.
  const as = kind !== functionCall || !fitsCallId(id, longestCallId) || !fitsName(name) ? kind.call : undefined
  return callPart(id, name, args, keep(wire, items.callItem(kind, id, name, action), as))
}

const readOutput = (wire: JsonObject, kind: CallKind, reading: Reading): ToolResultPart => {
  const callId = answeredCallId(wire, kind, reading)
  const answer = wire[kind.answers]
  const isError =
    kind.output === 'apply_patch_call_output'
      ? wire['status'] === 'failed'
      : kind.output === 'mcp_approval_response' && wire['approve'] === false
  const { content, written, as } = ownFields(readIn(wire, kind.answers, (value) => readAnswer(value, kind)))
  const call = reading.calls.get(callId)
  const form =
    as === undefined &&
    kind === functionCall &&
    (call?.kind ?? functionCall) === functionCall &&
    fitsCallId(callId, longestCallId)
      ? undefined
      : [kind.output, ...(as === undefined ? [] : [as])].join(' ')
  const kept = keep(
    wire,
    items.outputItem(kind, callId, answer === undefined ? undefined : (written ?? answer), isError, call?.caller),
    form,
  )
  return resultPart(callId, content, kept, undefined, isError || undefined)
}

const answeredCallId = (wire: JsonObject, kind: CallKind, { localShell }: Reading): string => {
  const named = wire[kind.outputId]
  if (typeof named === 'string') return named
  const id = aString(wire['id'])
  return localShell.get(id) ?? id
}

interface Answer {
  readonly content: ResultPart[]
  /** What encoding would write, if that may differ from the wire. */
  readonly written?: Json
  readonly as?: 'parts' | 'raw' | 'none'
}

/** A result as parts: text as is, JSON as text for kinds with their own form, anything else raw. */
const readAnswer = (answer: Json | undefined, { output }: CallKind): Answer => {
  if (output === 'computer_call_output' && isObject(answer) && typeof answer['image_url'] === 'string') {
    const source = sourceOf(answer['image_url'])
    return { content: [imagePart(source)], written: items.screenshot(source) as JsonObject }
  }
  const isJson = output === 'shell_call_output' || output === 'tool_search_output'
  if (isJson && Array.isArray(answer)) return { content: [textPart(JSON.stringify(answer))] }
  if (typeof answer === 'string' && !isJson && output !== 'computer_call_output') return { content: [textPart(answer)] }
  if (Array.isArray(answer) && (output === 'function_call_output' || output === 'custom_tool_call_output')) {
    const { parts, as } = readParts(answer as readonly Json[], false)
    return { content: parts, ...((as !== undefined || parts.length === 0) && { as: 'parts' }) }
  }
  return answer === undefined ? { content: [], as: 'none' } : { content: [raw(answer)], as: 'raw' }
}

const { keep, mark, raw, readSaid } = readingOf({ ...items, format, ofString: undefined, ofOne: 'message' })
const { freeze } = Object
