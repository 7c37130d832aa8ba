/**
 * The session file of the pi coding agent: one JSON entry a line, a header first, then messages and changes of model
 * or thinking level.
 *
 * Source  badlogic/pi-mono, packages/coding-agent session format 1 (2025-11)
 */
import { left, right, type Either } from 'fp-ts/lib/Either.js'
import type { Json, JsonObject, Path } from '../json/index.ts'
import type { CodecFault } from './codec-fault.ts'
import type { Message, Meta, Part, ResultPart } from './message.ts'
import { arrayAt, fieldsBeside, isObject, objectAt, stringAt, Unexpected } from './wire.ts'

const format = 'pi-session'

/** One line of a file of JSON lines. */
export interface Line {
  /** Counted from 1. */
  readonly line: number
  readonly value: unknown
}

export const isPiHeader = (value: unknown): boolean =>
  isObject(value) && value['type'] === 'session' && typeof value['id'] === 'string' && typeof value['timestamp'] === 'string'

/** Decode the messages of a session, in file order. What has no word in the model is kept in `meta['pi-session']`. */
export const decodePiSession = (lines: readonly Line[]): Either<CodecFault, readonly Message[]> => {
  const messages: Message[] = []
  for (const { line, value } of lines) {
    try {
      const entry = objectAt(value, [])
      if (entry['type'] === 'message') messages.push(withEntry(piMessage(objectAt(entry['message'], ['message'])), fieldsBeside(entry, ['type', 'message'])))
    } catch (error) {
      if (!(error instanceof Unexpected)) throw error
      return left({ _tag: 'UnexpectedWire', format, line, path: error.path, expected: error.expected, found: error.found })
    }
  }
  return right(messages)
}

/** A message with what its line says beside it: its time, and in later versions its id and parent. */
const withEntry = (message: Message, entry: JsonObject | undefined): Message => {
  if (entry === undefined) return message
  const own = message.meta?.[format]
  return { ...message, meta: { [format]: { ...(isObject(own) ? own : {}), entry } } }
}

const piMessage = (wire: JsonObject): Message => {
  const role = stringAt(wire['role'], ['message', 'role'])
  const content = wire['content']
  const path = ['message', 'content']
  if (role === 'toolResult')
    return {
      role: 'tool',
      content: [
        {
          type: 'tool_result',
          callId: stringAt(wire['toolCallId'], ['message', 'toolCallId']),
          content: plainParts(content, path),
          ...(typeof wire['toolName'] === 'string' && { name: wire['toolName'] }),
          ...(wire['isError'] === true && { isError: true }),
        },
      ],
      ...metaOf(fieldsBeside(wire, ['role', 'content', 'toolCallId', 'toolName', 'isError'])),
    }
  if (role === 'user') return { role, content: plainParts(content, path), ...metaOf(fieldsBeside(wire, ['role', 'content'])) }
  if (role === 'assistant')
    return {
      role,
      content: arrayAt(content, path).map((part, index) => assistantPart(objectAt(part, [...path, index]), [...path, index])),
      ...metaOf(fieldsBeside(wire, ['role', 'content'])),
    }
  throw new Unexpected(['message', 'role'], 'one of user, assistant, toolResult', role)
}

const plainParts = (content: Json | undefined, path: Path): readonly ResultPart[] =>
  typeof content === 'string'
    ? [{ type: 'text', text: content }]
    : arrayAt(content, path).map((part, index) => plainPart(objectAt(part, [...path, index]), [...path, index]))

const plainPart = (part: JsonObject, path: Path): ResultPart => {
  if (part['type'] === 'text')
    return { type: 'text', text: stringAt(part['text'], [...path, 'text']), ...metaOf(fieldsBeside(part, ['type', 'text'])) }
  if (part['type'] === 'image' && typeof part['data'] === 'string' && typeof part['mimeType'] === 'string')
    return {
      type: 'image',
      source: { type: 'base64', data: part['data'], mediaType: part['mimeType'] },
      ...metaOf(fieldsBeside(part, ['type', 'data', 'mimeType'])),
    }
  return { type: 'provider', provider: format, raw: part }
}

const assistantPart = (part: JsonObject, path: Path): Part => {
  if (part['type'] === 'toolCall')
    return {
      type: 'tool_call',
      id: stringAt(part['id'], [...path, 'id']),
      name: stringAt(part['name'], [...path, 'name']),
      arguments: JSON.stringify(part['arguments'] ?? {}),
      ...metaOf(fieldsBeside(part, ['type', 'id', 'name', 'arguments'])),
    }
  if (part['type'] === 'thinking')
    return {
      type: 'reasoning',
      text: stringAt(part['thinking'], [...path, 'thinking']),
      ...(typeof part['thinkingSignature'] === 'string' && { signature: part['thinkingSignature'] }),
      ...metaOf(fieldsBeside(part, ['type', 'thinking', 'thinkingSignature'])),
    }
  return plainPart(part, path)
}

const metaOf = (others: JsonObject | undefined): { readonly meta?: Meta } =>
  others === undefined ? {} : { meta: { [format]: others } }
