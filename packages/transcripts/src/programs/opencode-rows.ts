/**
 * A session of opencode's later tables, as `{ session, session_message }`: the row of the session, and those of its messages with
 * their `data` parsed. Each row is a message with its content, or information beside the conversation.
 *
 * Source  anomalyco/opencode, packages/schema/src/session-message.ts and packages/core/src/session (2026-10)
 */
import {
  arrayAt,
  fieldsBeside,
  isObject,
  objectAt,
  stringAt,
  type Json,
  type JsonObject,
} from 'indelible/internal/json'
import { sourceOf } from 'indelible/internal/codecs'
import type { Message, Part, ResultPart } from 'indelible/message'
import { callPart, entryLines, resultMessage, textPart } from '../format/entry-lines.ts'
import type { LineFormat, Sink } from '../format/line-format.ts'
import { countCall, opencodeUse } from '../format/call-counts.ts'
import { isoOf, objectIn, textIn } from '../format/origin.ts'
import { isForkCopy } from './opencode.ts'
import { withOtherFields } from '../format/other-fields.ts'

const format = 'opencode'

export const opencodeRows: LineFormat = entryLines({
  format,
  matches: ({ session, session_message: rows }) => isObject(session) && Array.isArray(rows),
  kindOf: () => 'session',
  read: (entry, sink, line) => {
    const { origin } = sink
    const { time_created: created, time_updated: updated, ...session } = objectAt(entry['session'], ['session'])
    origin.time(isoOf(created))
    const isCopy: IsCopy = (id, time) => isForkCopy(id, time, session['title'], created)
    origin.describe(session, { id: 'id', title: 'title', version: 'version' })
    if (Object.keys(objectIn(entry, 'others')).length > 0)
      origin.metadata = { ...origin.metadata, others: entry['others'] as Json }
    const rows = arrayAt(entry['session_message'], ['session_message'])
    rows.forEach((row, index) =>
      sink.attempt(line, () => readRow(objectAt(row, ['session_message', index]), sink, line, isCopy)),
    )
    origin.time(isoOf(updated))
    return []
  },
})

/** Whether a message with this id and time is a copy in a fork. */
type IsCopy = (id: string | undefined, time: Json | undefined) => boolean

const readRow = (row: JsonObject, sink: Sink, line: number, isCopy: IsCopy): void => {
  const data = objectAt(row['data'], ['data'])
  const id = textIn(row, 'id')
  const time = objectIn(data, 'time')['created'] ?? row['time_created']
  const beside = (...names: readonly string[]): JsonObject => ({
    ...(typeof time === 'number' && { time }),
    ...fieldsBeside(data, names),
  })
  const write = (message: Message, others: JsonObject): void =>
    void sink.message(line, withOtherFields({ ...message, ...(id !== undefined && { id }) }, format, others))
  switch (row['type']) {
    case 'user': {
      const files = Array.isArray(data['files']) ? (data['files'] as readonly Json[]) : []
      const content = [textPart(stringAt(data['text'], ['data', 'text'])), ...files.map(readFile)]
      return write({ role: 'user', content }, beside('text', 'files'))
    }
    case 'synthetic':
      return write(
        { role: 'user', content: [textPart(stringAt(data['text'], ['data', 'text']))] },
        { ...beside('text'), synthetic: true },
      )
    case 'shell': {
      const command = textIn(data, 'command') ?? textIn(objectIn(data, 'shell'), 'command') ?? ''
      return write(
        { role: 'user', content: [textPart(`$ ${command}\n${textIn(data, 'output') ?? ''}`)] },
        beside('command', 'output'),
      )
    }
    case 'assistant':
      return readAnswer(data, sink, line, write, beside('content'), isCopy(id, time))
    case 'compaction': {
      const { summary } = data
      if (typeof summary !== 'string') return void sink.entry(line, row)
      return void sink.summary(line, { text: summary, before: sink.items, beside: fieldsBeside(row, ['data']) ?? {} })
    }
    default:
      return void sink.entry(line, row)
  }
}

const readAnswer = (
  data: JsonObject,
  sink: Sink,
  line: number,
  write: (message: Message, others: JsonObject) => void,
  beside: JsonObject,
  isCopy: boolean,
): void => {
  const content: Part[] = []
  const results: Message[] = []
  arrayAt(data['content'], ['data', 'content']).forEach((item, index) => {
    const path = ['data', 'content', index]
    const part = objectAt(item, path)
    if (part['type'] === 'text') content.push(textPart(stringAt(part['text'], [...path, 'text'])))
    else if (part['type'] === 'reasoning')
      content.push({ type: 'reasoning', text: stringAt(part['text'], [...path, 'text']) })
    else if (part['type'] === 'tool') {
      const id = stringAt(part['id'] ?? part['callID'], [...path, 'id'])
      const name = stringAt(part['name'] ?? part['tool'], [...path, 'name'])
      const state = objectIn(part, 'state')
      content.push({
        ...callPart(id, name, state['input']),
        meta: { [format]: fieldsBeside(part, ['type', 'id', 'name', 'state']) ?? {} },
      })
      const result = resultOf(state)
      if (result !== undefined) results.push(resultMessage(id, result, { name, isError: state['status'] === 'error' }))
    } else content.push({ type: 'provider', provider: format, raw: part })
  })
  countCall(sink.origin, opencodeUse(data), isCopy ? { isCopy } : {})
  if (content.length > 0) write({ role: 'assistant', content }, beside)
  else sink.entry(line, data)
  for (const result of results) sink.message(line, result)
}

/** The content of a finished or failed call; undefined for one that still runs. */
const resultOf = (state: JsonObject): readonly ResultPart[] | undefined => {
  const { status, content, output, error } = state
  if (status === 'error')
    return [
      textPart(
        typeof error === 'string'
          ? error
          : (textIn(objectIn(state, 'error'), 'message') ?? JSON.stringify(error ?? null)),
      ),
    ]
  if (status !== 'completed') return undefined
  if (typeof output === 'string') return [textPart(output)]
  return (Array.isArray(content) ? (content as readonly Json[]) : []).map((part): ResultPart => {
    if (isObject(part) && part['type'] === 'text' && typeof part['text'] === 'string') return textPart(part['text'])
    return { type: 'provider', provider: format, raw: part }
  })
}

const readFile = (file: Json): ResultPart => {
  const url = isObject(file) ? (textIn(file, 'uri') ?? textIn(file, 'url')) : undefined
  if (!isObject(file) || url === undefined) return { type: 'provider', provider: format, raw: file }
  const isImage = textIn(file, 'mime')?.startsWith('image/') === true
  const name = textIn(file, 'name')
  return isImage
    ? { type: 'image', source: sourceOf(url) }
    : { type: 'file', source: sourceOf(url), ...(name !== undefined && { name }) }
}
