/** Decodes OpenAI Agents SDK items. */
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
} from 'indelible/internal/json'
import {
  type Decode,
  decodeWire,
  isOnePlainText,
  contentOf,
  isText,
  ItemReading,
  readingOf,
  speakers,
  textsIn,
  callPart,
  filePart,
  imagePart,
  messageOf,
  resultPart,
  stringIn,
  textPart,
  sourceOf,
} from 'indelible/internal/codecs'
import type { Message, ReasoningPart, ResultPart, Role, ToolCallPart, ToolResultPart } from 'indelible/message'
import * as items from './items.ts'
import { format, functionCall, kindOfCall, kindOfOutput, type CallKind } from './items.ts'

/** Decodes items: an array, or the text of one user message. */
export const decode: Decode = (wire) =>
  decodeWire(format, wire, (value) => {
    if (typeof value === 'string') return [messageOf('user', [textPart(value)])]
    const reading: Reading = new ItemReading()
    readEach(aList(value), (item) => readItem(anObject(item), reading))
    return reading.end()
  })

type Reading = ItemReading<{ readonly kind: CallKind; readonly name: string }>

const readItem = (wire: JsonObject, reading: Reading): void => {
  const { type } = wire
  if (type === 'reasoning') return reading.say(readReasoning(wire))
  const asking = kindOfCall.get(type)
  if (asking !== undefined && typeof wire['callId'] === 'string') {
    const call = readCall(wire, wire['callId'], asking, reading)
    return reading.say(call ?? raw(wire))
  }
  const answering = kindOfOutput.get(type)
  if (answering !== undefined && typeof wire['callId'] === 'string')
    return reading.add(messageOf('tool', [readOutput(wire, wire['callId'], answering, reading)]))
  if (type === 'message' || (type === undefined && wire['role'] !== undefined)) return readMessage(wire, reading)
  if (typeof type !== 'string') throw new Unexpected(['type'], 'the type of an item', type)
  reading.say(raw(wire))
}

const readMessage = (wire: JsonObject, reading: Reading): void => {
  const content = contentOf(wire)
  const role = speakers.get(wire['role'])
  if (role !== undefined) return reading.add(readSpoken(role, wire, content))
  if (wire['role'] !== 'assistant')
    throw new Unexpected(['role'], 'one of system, developer, user, assistant', wire['role'])
  for (const part of readSaid(wire, content)) reading.say(part)
}

const readSpoken = (role: Role, wire: JsonObject, content: string | readonly Json[]): Message => {
  const written = items.messageItem(items.speakerOf(role), '')
  if (typeof content === 'string')
    return messageOf(role, [textPart(content)], keep(wire, written, undefined, ['content']))
  const parts = readIn(wire, 'content', () => readEach(content, (part) => readPart(anObject(part), true)))
  // Encoding would write one plain text as a string, and no parts as an empty string.
  const as = parts.length === 0 || isOnePlainText(parts) ? 'parts' : undefined
  return messageOf(role, parts, keep(wire, written, as, ['content']))
}

const readPart = (wire: JsonObject, isSpoken: boolean): ResultPart => {
  if (isText(wire)) return textPart(wire.text, keep(wire, items.inputText(wire.text)))
  const { type, image, file } = wire
  if ((type === 'input_image' || type === 'image') && typeof image === 'string' && isUrl(image)) {
    const source = sourceOf(image)
    return imagePart(source, keep(wire, items.inputImage(source)))
  }
  if (type === 'input_file' && typeof file === 'string' && isUrl(file)) {
    const source = sourceOf(file)
    const name = stringIn(wire, 'filename')
    return filePart(source, name, keep(wire, items.inputFile(source, name)))
  }
  if (!isSpoken && type === 'computer_screenshot' && typeof wire['data'] === 'string' && isUrl(wire['data'])) {
    const source = sourceOf(wire['data'])
    return imagePart(source, keep(wire, items.screenshot(source), 'screenshot'))
  }
  return raw(wire)
}

const isUrl = (text: string): boolean => /^(?:data|https?):/.test(text)

/** Reasoning is always marked, because other providers' reasoning can't be sent to this one. */
const readReasoning = (wire: JsonObject): ReasoningPart => {
  const summary = textsIn(wire['content'])
  const part = {
    type: 'reasoning',
    text: textsIn(wire['rawContent']).join(''),
    ...(summary.length > 0 && { summary: freeze(summary) }),
  } as const
  return freeze({ ...part, ...keep(wire, items.reasoningItem(part), 'reasoning') })
}

const readCall = (wire: JsonObject, id: string, kind: CallKind, reading: Reading): ToolCallPart | undefined => {
  const action = kind.call === 'computer_call' && Array.isArray(wire['actions']) ? wire['actions'] : wire[kind.asks]
  if (kind.name !== undefined && (typeof action !== 'object' || action === null)) return undefined
  const name = kind.name ?? readIn(wire, 'name', aString)
  const args = kind.name === undefined ? readIn(wire, kind.asks, aString) : JSON.stringify(action)
  reading.calls.set(id, { kind, name })
  const as = kind === functionCall ? undefined : kind.call
  const written = items.callItem(kind, id, name, kind.name === undefined ? args : action)
  return callPart(id, name, args, keep(wire, written, as))
}

const readOutput = (wire: JsonObject, callId: string, kind: CallKind, reading: Reading): ToolResultPart => {
  const call = reading.calls.get(callId)
  const name = stringIn(wire, 'name')
  const isError = kind.call === 'apply_patch_call' && wire['status'] === 'failed'
  const { content, as } = readAnswer(wire['output'])
  const form =
    as === undefined && kind === functionCall && (call?.kind ?? functionCall) === functionCall
      ? undefined
      : [kind.output, ...(as === undefined ? [] : [as])].join(' ')
  const written = items.outputItem(kind, callId, name ?? call?.name ?? '', wire['output'], isError)
  return resultPart(callId, content, keep(wire, written, form), name, isError || undefined)
}

/** A result as parts, with a mark for its form: a list, one object, or absent. */
const readAnswer = (
  answer: Json | undefined,
): { readonly content: ResultPart[]; readonly as?: 'parts' | 'one' | 'none' } => {
  if (answer === undefined) return { content: [], as: 'none' }
  if (typeof answer === 'string') return { content: [textPart(answer)] }
  const read = (part: Json): ResultPart => (isObject(part) ? readPart(part, false) : raw(part))
  return Array.isArray(answer)
    ? { content: (answer as readonly Json[]).map(read), as: 'parts' }
    : { content: [read(answer)], as: 'one' }
}

const { keep, raw, readSaid } = readingOf({ ...items, format, ofString: 'string', ofOne: undefined })
const { freeze } = Object
