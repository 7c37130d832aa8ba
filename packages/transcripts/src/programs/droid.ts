/**
 * The session file of Factory's Droid: one JSON entry a line, a header first; messages are Anthropic's, in a tree by `id` and
 * `parentId`.
 *
 * Source  public readers of it (2026-08); files of version 0.215.0; the format is undocumented
 */
import { fieldsBeside, isObject, objectAt, type JsonObject } from 'indelible/internal/json'
import { decodeRecorded } from 'indelible/internal/codecs'
import { entryLines, linkIn } from '../format/entry-lines.ts'
import type { LineFormat } from '../format/line-format.ts'
import { objectIn } from '../format/origin.ts'
import { withOtherFields } from '../format/other-fields.ts'
import { messagesIn } from '../format/read-problems.ts'

const format = 'droid'

/** Whether an entry is a message of Droid. pi's have a time of their own, ids of eight digits, and other roles. */
const isMessage = ({ type, id, timestamp, message }: JsonObject): boolean =>
  type === 'message' &&
  typeof id === 'string' &&
  !/^[0-9a-f]{8}$/.test(id) &&
  typeof timestamp === 'string' &&
  isObject(message) &&
  (message['role'] === 'user' || message['role'] === 'assistant') &&
  'content' in message &&
  !['timestamp', 'api', 'stopReason'].some((field) => field in message)

export const droid: LineFormat = entryLines({
  format,
  signatures: [['type', 'id', 'parentId', 'message']],
  matches: (entry) =>
    isMessage(entry) ||
    (entry['type'] === 'session_start' && typeof entry['id'] === 'string') ||
    (entry['type'] === 'compaction_state' && 'anchorMessage' in entry),
  isEntry: (entry) => typeof entry['type'] === 'string' && typeof entry['id'] === 'string',
  link: (entry) => ({
    ...linkIn(entry, 'id', 'parentId'),
    ...(entry['type'] !== 'message' && { id: undefined }),
  }),
  read: (entry, sink, line) => {
    const { origin } = sink
    switch (entry['type']) {
      case 'session_start':
        origin.describe(entry, { id: 'id', title: 'title' }, ['type'])
        return []
      case 'message': {
        const message = objectAt(entry['message'], ['message'])
        origin.model(message['model'] ?? message['modelId'])
        const decoded = decodeRecorded([{ role: message['role'] ?? null, content: message['content'] ?? null }])
        const others = fieldsBeside(message, ['role', 'content'])
        const beside = { ...fieldsBeside(entry, ['type', 'message']), ...(others && { message: others }) }
        return messagesIn(decoded, ['message'], message).map((each) => withOtherFields(each, format, beside))
      }
      case 'compaction_state': {
        const { summaryText } = entry
        if (typeof summaryText !== 'string') return 'note'
        sink.summary(line, {
          text: summaryText,
          before: sink.items,
          beside: fieldsBeside(entry, ['summaryText']) ?? {},
        })
        return []
      }
      default:
        return typeof entry['id'] === 'string' && Object.keys(objectIn(entry, 'message')).length === 0
          ? 'note'
          : undefined
    }
  },
})
