/**
 * The session file of Qwen Code: one JSON entry a line, in a tree by `uuid` and `parentUuid`, with contents of Gemini.
 *
 * Source  QwenLM/qwen-code, packages/core/src/services/chatRecordingService.ts (2026-11); files of version 0.24.4
 */
import { fieldsBeside, isObject, objectAt, ownField, type Json, type JsonObject } from 'indelible/internal/json'
import { codecs } from 'indelible/codecs'
import { entryLines, linkIn } from '../format/entry-lines.ts'
import type { LineFormat } from '../format/line-format.ts'
import { countAnswer, geminiUse } from '../format/call-counts.ts'
import { countsIn } from '../format/format-facts.ts'
import { count, objectIn, textIn } from '../format/origin.ts'
import { withOtherFields } from '../format/other-fields.ts'
import { messagesIn } from '../format/read-problems.ts'

const format = 'qwen-code'

const kinds: ReadonlySet<unknown> = new Set(['user', 'assistant', 'tool_result', 'system'])

export const qwenCode: LineFormat = entryLines({
  format,
  signatures: [['uuid', 'parentUuid', 'sessionId', 'type', 'message', 'cwd']],
  countsOf: countsIn(format, (own) => {
    const used = objectIn(own, 'usageMetadata')
    const output = count(used['candidatesTokenCount']) + count(used['thoughtsTokenCount'])
    return geminiUse(own['model'], used['promptTokenCount'], used['cachedContentTokenCount'], output)
  }),
  matches: (entry) =>
    kinds.has(entry['type']) &&
    typeof entry['uuid'] === 'string' &&
    'parentUuid' in entry &&
    (Array.isArray(objectIn(entry, 'message')['parts']) || (entry['type'] === 'system' && 'systemPayload' in entry)),
  link: (entry) => linkIn(entry, 'uuid', 'parentUuid'),
  read: (entry, { origin }) => {
    origin.id ??= textIn(entry, 'sessionId')
    origin.version ??= textIn(entry, 'version')
    if (ownField(origin.metadata, 'cwd') === undefined && typeof entry['cwd'] === 'string')
      origin.metadata = {
        ...origin.metadata,
        ...fieldsBeside({ cwd: entry['cwd'], gitBranch: entry['gitBranch'] ?? null }, []),
      }
    if (entry['type'] === 'system') return entry['subtype'] === 'ui_telemetry' ? 'aside' : 'note'
    if (!kinds.has(entry['type'])) return undefined
    const decoded = codecs.gemini.decode([objectAt(entry['message'], ['message'])])
    const usual: { readonly [field: string]: Json | undefined } = {
      sessionId: origin.id,
      version: origin.version,
      ...origin.metadata,
    }
    const isUsual = (field: string): boolean => entry[field] === usual[field]
    const repeated = ['sessionId', 'version', 'cwd', 'gitBranch'].filter((field) => isUsual(field))
    const beside = fieldsBeside(entry, ['message', 'type', ...repeated]) ?? {}
    const messages = messagesIn(decoded, ['message'], entry['message']).map((message, index) =>
      withOtherFields(message, format, index === 0 ? beside : timeOf(entry)),
    )
    for (const message of messages) countAnswer(origin, qwenCode, message, { key: String(entry['uuid']) })
    return messages
  },
})

const timeOf = ({ timestamp }: JsonObject): JsonObject => (isObject(timestamp) ? {} : { timestamp: timestamp ?? null })
