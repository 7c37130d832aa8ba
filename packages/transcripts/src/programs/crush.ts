/**
 * A session of Crush: the rows of its database as `{ id, title, …, messages }`, each message with its `parts`.
 *
 * Source  charmbracelet/crush, internal/message/content.go and internal/db/migrations (2026-10)
 */
import {
  arrayAt,
  difference,
  fieldsBeside,
  isObject,
  objectAt,
  present,
  stringAt,
  type Json,
  type JsonObject,
} from 'indelible/internal/json'
import type { Message, Part, ResultPart } from 'indelible/message'
import { sourceOf } from 'indelible/internal/codecs'
import { callPart, entryLines, resultMessage, textPart } from '../format/entry-lines.ts'
import type { LineFormat } from '../format/line-format.ts'
import { isoOf, millisecondsOf, objectIn, textIn } from '../format/origin.ts'
import { withOtherFields } from '../format/other-fields.ts'

const format = 'crush'

const isMessage = (value: Json): boolean =>
  isObject(value) && typeof value['role'] === 'string' && Array.isArray(value['parts']) && 'session_id' in value

export const crush: LineFormat = entryLines({
  format,
  times: [['time']],
  spansLines: true,
  matches: ({ id, messages }) =>
    typeof id === 'string' &&
    Array.isArray(messages) &&
    messages.length > 0 &&
    (messages as readonly Json[]).every(isMessage),
  kindOf: () => 'session',
  read: (entry, sink, line) => {
    const { origin } = sink
    origin.describe(entry, { id: 'id', title: 'title' }, ['messages'])
    const rows = arrayAt(entry['messages'], ['messages']).map((row, index) => objectAt(row, ['messages', index]))
    for (const row of rows) {
      origin.time(isoOf(millisecondsOf(row['created_at'])))
      if (row['role'] === 'assistant') origin.model(row['model'])
      sink.attempt(line, () => {
        for (const message of messagesOf(row, origin.id)) sink.message(line, message)
      })
    }
    origin.usage(
      { input: entry['prompt_tokens'], output: entry['completion_tokens'], cacheRead: 0, cacheWrite: 0 },
      { isSum: true },
    )
    return []
  },
})

const knownRoles: ReadonlySet<unknown> = new Set(['user', 'assistant', 'system', 'tool'])

const messagesOf = (row: JsonObject, session: string | undefined): readonly Message[] => {
  const content: Part[] = []
  const results: Message[] = []
  const others: Json[] = []
  for (const part of arrayAt(row['parts'], ['parts'])) {
    const data = isObject(part) ? objectIn(part, 'data') : {}
    /** Keep what is beside the fields that are read. */
    const keep = (known: JsonObject): void => {
      const rest = isObject(part) ? difference(part, { type: part['type'] ?? null, data: known }) : undefined
      if (rest !== undefined) others.push(rest)
    }
    switch (isObject(part) ? part['type'] : undefined) {
      case 'text':
        if (data['text'] !== '') content.push(textPart(stringAt(data['text'], ['parts', 'text'])))
        keep({ text: data['text'] ?? null })
        break
      case 'reasoning': {
        const signature = textIn(data, 'signature')
        content.push({
          type: 'reasoning',
          text: stringAt(data['thinking'], ['parts', 'thinking']),
          ...(signature && { signature }),
        })
        keep({ thinking: data['thinking'] ?? null, ...(signature !== undefined && { signature }) })
        break
      }
      case 'tool_call':
        content.push(
          callPart(stringAt(data['id'], ['parts', 'id']), stringAt(data['name'], ['parts', 'name']), data['input']),
        )
        keep({
          id: data['id'] ?? null,
          name: data['name'] ?? null,
          ...(data['input'] !== undefined && { input: data['input'] }),
        })
        break
      case 'tool_result':
        results.push(
          resultMessage(
            stringAt(data['tool_call_id'], ['parts', 'tool_call_id']),
            [textPart(stringAt(data['content'], ['parts', 'content']))],
            {
              name: textIn(data, 'name'),
              isError: data['is_error'] === true,
            },
          ),
        )
        keep({
          ...{ tool_call_id: data['tool_call_id'] ?? null, content: data['content'] ?? null },
          ...(typeof data['name'] === 'string' && { name: data['name'] }),
          ...(typeof data['is_error'] === 'boolean' && { is_error: data['is_error'] }),
        })
        break
      case 'image_url':
        content.push({ type: 'image', source: sourceOf(stringAt(data['url'], ['parts', 'url'])) })
        keep({ url: data['url'] ?? null })
        break
      case 'finish':
        others.push(part)
        break
      default:
        content.push({ type: 'provider', provider: format, raw: part })
    }
  }
  const time = millisecondsOf(row['created_at'])
  const beside = {
    ...fieldsBeside(row, [
      ...(knownRoles.has(row['role']) ? ['role'] : []),
      'parts',
      ...(row['session_id'] === session ? ['session_id'] : []),
      ...(content.length > 0 || results.length === 0 ? ['id'] : []),
    ]),
    ...present({ time }),
    ...(others.length > 0 && { parts: others }),
  }
  const role = row['role'] === 'assistant' ? 'assistant' : row['role'] === 'system' ? 'system' : 'user'
  const id = textIn(row, 'id')
  const own: Message = { role, content: content as ResultPart[], ...(id !== undefined && { id }) }
  return [...results, ...(content.length === 0 && results.length > 0 ? [] : [own])].map((item) =>
    withOtherFields(item, format, beside),
  )
}
