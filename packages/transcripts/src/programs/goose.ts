/**
 * A session of Goose: JSON lines, a header first, or the rows of its database as `{ id, …, messages }`.
 *
 * Source  block/goose, crates/goose/src: conversation/message.rs, session/session_manager.rs (2026-10)
 */
import {
  arrayAt,
  fieldsBeside,
  isObject,
  objectAt,
  present,
  stringAt,
  type Json,
  type JsonObject,
  type Path,
} from 'indelible/internal/json'
import type { Message, Part, ResultPart } from 'indelible/message'
import { blockReader } from '../format/blocks.ts'
import { callPart, entryLines, resultMessage, textPart } from '../format/entry-lines.ts'
import type { LineFormat, Sink } from '../format/line-format.ts'
import { millisecondsOf, objectIn, textIn } from '../format/origin.ts'
import { metaOf, withOtherFields } from '../format/other-fields.ts'

const format = 'goose'

const isMessage = (entry: JsonObject): boolean =>
  (entry['role'] === 'user' || entry['role'] === 'assistant') &&
  Array.isArray(entry['content']) &&
  (typeof entry['created'] === 'number' || typeof entry['created_timestamp'] === 'number')

const isHeader = (entry: JsonObject): boolean => typeof entry['working_dir'] === 'string' && !('role' in entry)

export const goose: LineFormat = entryLines({
  format,
  signatures: [['role', 'created', 'content']],
  times: [['time']],
  spansLines: true,
  matches: (entry) =>
    isMessage(entry) || (isHeader(entry) && ('message_count' in entry || Array.isArray(entry['messages']))),
  kindOf: () => 'header',
  read: (entry, sink, line) => {
    if (isMessage(entry)) return messagesOf(entry)
    if (!isHeader(entry)) return undefined
    readHeader(entry, sink)
    const rows = entry['messages'] === undefined ? [] : arrayAt(entry['messages'], ['messages'])
    for (const row of rows)
      sink.attempt(line, () => {
        for (const message of messagesOf(objectAt(row, ['messages']))) sink.message(line, message)
      })
    return []
  },
})

const readHeader = (entry: JsonObject, { origin }: Sink): void => {
  origin.describe(entry, { id: 'id', title: 'description' }, ['messages'])
  origin.metadata = { ...origin.metadata, cwd: entry['working_dir'] ?? null }
  const [input, output] = [
    entry['accumulated_input_tokens'] ?? entry['input_tokens'],
    entry['accumulated_output_tokens'] ?? entry['output_tokens'],
  ]
  origin.model(objectIn(entry, 'model_config')['model_name'])
  origin.usage({ input, output, cacheRead: 0, cacheWrite: 0 }, { isSum: true })
}

/** The messages of one: results are messages of their own. */
const messagesOf = (entry: JsonObject): readonly Message[] => {
  const content: Part[] = []
  const results: Message[] = []
  arrayAt(entry['content'], ['content']).forEach((item, index) => {
    const path = ['content', index]
    const part = objectAt(item, path)
    if (part['type'] === 'toolResponse') results.push(readResult(part, path))
    else content.push(readPart(part, path))
  })
  const time = millisecondsOf(entry['created'] ?? entry['created_timestamp'])
  const beside = {
    ...fieldsBeside(entry, [...(results.length === 0 || entry['role'] === 'user' ? ['role'] : []), 'content']),
    ...present({ time }),
  }
  const messages: readonly Message[] =
    content.length === 0 && results.length > 0
      ? results
      : [...results, { role: entry['role'] as 'user' | 'assistant', content: content as ResultPart[] }]
  return messages.map((message) => withOtherFields(message, format, beside))
}

const readBlock = blockReader(format, { text: ['text', 'text'], thinking: ['reasoning', 'thinking', 'signature'] })

const readPart = (part: JsonObject, path: Path): Part => {
  switch (part['type']) {
    case 'image':
      return {
        type: 'image',
        source: {
          type: 'base64',
          data: stringAt(part['data'], [...path, 'data']),
          mediaType: textIn(part, 'mimeType') ?? textIn(part, 'mime_type') ?? 'image/png',
        },
        ...metaOf(format, fieldsBeside(part, ['type', 'data', 'mimeType'])),
      }
    case 'toolRequest': {
      const { status, value, ...others } = objectAt(part['toolCall'], [...path, 'toolCall'])
      const call = isObject(value) ? value : { name: 'unreadable', arguments: part['toolCall'] ?? null }
      const unread = fieldsBeside(call, ['name', 'arguments'])
      const beside = {
        ...fieldsBeside(part, ['type', 'id', 'toolCall']),
        ...(unread && { value: unread }),
        ...others,
        ...(status !== 'success' && { status: status ?? null }),
      }
      return {
        ...callPart(
          stringAt(part['id'], [...path, 'id']),
          stringAt(call['name'], [...path, 'toolCall', 'value', 'name']),
          call['arguments'],
        ),
        ...(Object.keys(beside).length > 0 && { meta: { [format]: beside } }),
      }
    }
    default:
      return readBlock(part, path)
  }
}

const readResult = (part: JsonObject, path: Path): Message => {
  const { status, value, error } = objectAt(part['toolResult'], [...path, 'toolResult'])
  const list = isObject(value) ? value['content'] : value
  const content = Array.isArray(list)
    ? (list as readonly Json[]).map(
        (item, at) =>
          readPart(objectAt(item, [...path, 'toolResult', 'value', at]), [
            ...path,
            'toolResult',
            'value',
            at,
          ]) as ResultPart,
      )
    : [textPart(typeof error === 'string' ? error : JSON.stringify(value ?? error ?? null))]
  const result = resultMessage(stringAt(part['id'], [...path, 'id']), content, {
    isError: status === 'error' || (isObject(value) && value['isError'] === true),
  })
  const kept = isObject(value) ? { ...value, content: value['content'] ?? null } : value
  const own = Array.isArray(list) ? (isObject(value) ? fieldsBeside(value, ['content']) : undefined) : undefined
  const rest = fieldsBeside(objectAt(part['toolResult'], [...path, 'toolResult']), [
    'status',
    'value',
    ...(typeof error === 'string' ? ['error'] : []),
  ])
  const beside = {
    ...fieldsBeside(part, ['type', 'id', 'toolResult']),
    ...(own && { value: own }),
    ...(rest && { toolResult: rest }),
  }
  return Object.keys(beside).length === 0 || kept === undefined
    ? result
    : { ...result, meta: { [`${format}-result`]: beside } }
}
