/** Decodes AI SDK model messages. */
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
  ownFields,
} from 'indelible/internal/json'
import type { FilePart, ImagePart, Message, Part, Role, ToolCallPart, ToolResultPart } from 'indelible/message'
import {
  type Decode,
  isOnePlainText,
  callPart,
  keepingOf,
  messageOf,
  resultPart,
  stringIn,
  textPart,
} from 'indelible/internal/codecs'
import { isProvider, setAside } from './approval-parts.ts'
import { format } from './format.ts'
import { argumentsOf, inputToWrite } from './input.ts'
import { decodeLive } from './live-values.ts'
import { mediaOf, readData } from './media.ts'
import { readOutput } from './output.ts'
import { readReasoning } from './reasoning.ts'

const { keep, raw } = keepingOf(format)

/** Decodes `messages`, an array. */
export const decode: Decode = (wire) => decodeLive(format, wire, (value) => readModelMessages(aList(value)))

const roles: ReadonlyMap<unknown, Role> = new Map(
  (['system', 'user', 'assistant', 'tool'] as const).map((role) => [role, role]),
)

/** Reads messages that are already frozen JSON. Throws Unexpected. */
const readModelMessages = (wire: readonly Json[]): readonly Message[] => {
  const reader = new Reader()
  readEach(wire, (message) => reader.read(anObject(message)))
  return reader.end()
}

/**
 * Each wire message becomes one message, except that approval responses in tool messages move to
 * the end of the assistant message, so that results follow it directly, as every provider requires.
 */
class Reader {
  readonly #messages: Message[] = []
  /** The index of the assistant message that the current tool messages follow. */
  #spokenAt = -1
  #aside: Part[] = []

  read(wire: JsonObject): void {
    const role = roles.get(wire['role'])
    if (role === undefined) throw new Unexpected(['role'], `one of ${[...roles.keys()].join(', ')}`, wire['role'])
    const content = readIn(wire, 'content', readContent)
    if (
      role === 'tool' &&
      this.#spokenAt >= 0 &&
      content.every((part) => isProvider(part) || part.type === 'tool_result')
    ) {
      for (const part of setAside(wire, content, this.#messages.length - this.#spokenAt - 1)) this.#aside.push(part)
      const results = content.filter((part) => !isProvider(part))
      if (results.length > 0 || content.length === 0) this.#messages.push(readMessage(role, wire, results))
      return
    }
    if (role !== 'tool') this.end()
    if (role === 'assistant') this.#spokenAt = this.#messages.length
    this.#messages.push(readMessage(role, wire, content))
  }

  end(): readonly Message[] {
    const last = this.#messages[this.#spokenAt]
    if (last !== undefined && this.#aside.length > 0)
      this.#messages[this.#spokenAt] = freeze({ ...last, content: freeze([...last.content, ...this.#aside]) })
    this.#spokenAt = -1
    this.#aside = []
    return this.#messages
  }
}

const readMessage = (role: Role, wire: JsonObject, content: readonly Part[]): Message => {
  const as = contentFormOf(role, content, typeof wire['content'] === 'string')
  return messageOf(role, content, keep(wire, { role }, as, ['content']))
}

/** The mark for content in a form that would not be written by default: an array or a text. */
const contentFormOf = (role: Role, content: readonly Part[], isText: boolean): 'parts' | 'text' | undefined => {
  if (isText) return role === 'tool' ? 'text' : undefined
  return role === 'system' || isOnePlainText(content) || !content.every(({ type }) => usualParts[role].includes(type))
    ? 'parts'
    : undefined
}

/** The parts that each role may hold when written as one message. */
const usualParts: { readonly [role in Role]: readonly Part['type'][] } = {
  system: [],
  developer: [],
  user: ['text', 'image', 'file', 'provider'],
  assistant: ['text', 'image', 'file', 'provider', 'reasoning', 'tool_call'],
  tool: ['tool_result'],
}

const readContent = (wire: Json | undefined): readonly Part[] => {
  if (typeof wire === 'string') return [textPart(wire)]
  if (!Array.isArray(wire)) throw new Unexpected([], 'a string or an array of parts', wire)
  return readEach(wire as readonly Json[], (part) => readPart(anObject(part)))
}

const readPart = (wire: JsonObject): Part => {
  switch (wire['type']) {
    case 'text': {
      const text = readIn(wire, 'text', aString)
      return textPart(text, keep(wire, { type: 'text', text }))
    }
    case 'image':
    case 'file':
      return readFile(wire) ?? raw(wire)
    case 'reasoning':
      return readReasoning(format, wire, 'providerOptions', {})
    case 'tool-call':
      return readCall(wire)
    case 'tool-result':
      return readResult(wire)
    default: // approvals, custom parts, reasoning files, future kinds
      return raw(wire)
  }
}

/** A picture becomes an image part, whether it was written as `image` or, as `ai` prefers, as a file. */
const readFile = (wire: JsonObject): ImagePart | FilePart | undefined => {
  const asImage = wire['type'] === 'image'
  const mediaType = stringIn(wire, 'mediaType')
  const field = asImage ? 'image' : 'data'
  const read =
    asImage && isObject(wire['image']) ? undefined : readData(wire[field], mediaType ?? (asImage ? 'image' : undefined))
  if (read === undefined) return undefined
  const { source, written, spelling } = read
  const { part, fields } = mediaOf(wire, source, asImage)
  const usually = { type: wire['type'], [field]: written, ...fields }
  return freeze({ ...part, ...keep(wire, usually, asImage ? `image ${spelling ?? ''}`.trim() : spelling) })
}

const readCall = (wire: JsonObject): ToolCallPart => {
  const id = readIn(wire, 'toolCallId', aString)
  const name = readIn(wire, 'toolName', aString)
  const written = { type: 'tool-call', toolCallId: id, toolName: name, input: inputToWrite(wire['input']) }
  return callPart(id, name, argumentsOf(wire['input']), keep(wire, written))
}

const readResult = (wire: JsonObject): ToolResultPart => {
  const callId = readIn(wire, 'toolCallId', aString)
  const name = readIn(wire, 'toolName', aString)
  const { content, isError, written, as } = ownFields(readIn(wire, 'output', readOutput))
  const usually = { type: 'tool-result', toolCallId: callId, toolName: name, output: written }
  return resultPart(callId, content, keep(wire, usually, as), name, isError)
}

const { freeze } = Object
