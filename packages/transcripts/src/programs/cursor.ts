/**
 * The transcript of a Cursor agent: one `{ role, message }` a line, with content blocks like
 * Anthropic's. It holds no tool results.
 *
 * Source  observed files (2026-02); the format is undocumented
 */
import {
  arrayAt,
  fieldsBeside,
  isLeft,
  isObject,
  type Json,
  type JsonObject,
  Unexpected,
} from 'indelible/internal/json'
import { decodeRecorded } from 'indelible/internal/codecs'
import type { Message } from 'indelible/message'
import { isRole } from 'indelible/internal/message'
import { withOtherFields } from '../format/other-fields.ts'
import type { LineFormat } from '../format/line-format.ts'
import { unknownLine } from '../format/unknown-line.ts'

const format = 'cursor'

const isEntry = ({ role, type, message }: JsonObject): boolean =>
  isRole(role) && type === undefined && isObject(message) && 'content' in message

export const cursor: LineFormat = {
  format,
  matches: isEntry,
  reader: (sink) => ({
    read: (entry, line) => {
      if (!isEntry(entry)) return void unknownLine(entry, line, sink)()
      for (const message of readEntry(entry)) sink.message(line, message)
    },
    end: () => ({}),
  }),
}

const readEntry = (entry: JsonObject): readonly Message[] => {
  const { role } = entry
  const { content, ...others } = entry['message'] as JsonObject
  const beside = {
    ...fieldsBeside(entry, ['role', 'message']),
    ...(Object.keys(others).length > 0 && { message: others }),
  }
  const messages = decodeContent(role as Message['role'], content as Json)
  return Object.keys(beside).length === 0
    ? messages
    : messages.map((message, index) => (index === 0 ? withOtherFields(message, format, beside) : message))
}

/** The messages of content. If it can't be decoded, blocks other than plain texts are kept raw. */
const decodeContent = (role: Message['role'], content: Json): readonly Message[] => {
  const read = decodeRecorded([{ role, content }])
  if (!isLeft(read)) return read.right.messages
  if (typeof content === 'string') return [{ role, content: [{ type: 'text', text: content }] }]
  const parts = arrayAt(content, ['message', 'content'])
  if (parts.length === 0) throw new Unexpected(['message', 'content'], 'a text or blocks', content)
  return [
    {
      role,
      content: parts.map((part) =>
        isObject(part) && part['type'] === 'text' && typeof part['text'] === 'string' && Object.keys(part).length === 2
          ? { type: 'text', text: part['text'] }
          : { type: 'provider', provider: format, raw: part },
      ),
    },
  ]
}
