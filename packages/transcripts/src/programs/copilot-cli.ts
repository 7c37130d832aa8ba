/**
 * The session file of GitHub Copilot CLI, `events.jsonl`: one event a line, `{ type, data, id, timestamp, parentId }`.
 * Events of sub-agents are notes.
 *
 * Source  observed files of version 1.0.102; the format is undocumented
 */
import { arrayAt, fieldsBeside, isObject, objectAt, stringAt, type JsonObject } from 'indelible/internal/json'
import type { Message, Part } from 'indelible/message'
import { callPart, entryLines, linkIn, resultMessage, textPart } from '../format/entry-lines.ts'
import type { LineFormat, Sink } from '../format/line-format.ts'
import { objectIn, textIn } from '../format/origin.ts'
import { withOtherFields } from '../format/other-fields.ts'

const format = 'copilot-cli'

const isEvent = ({ type, data, id, timestamp }: JsonObject): boolean =>
  typeof type === 'string' &&
  /^(?:session|user|assistant|tool|system|subagent|hook|skill|abort|model)(?:\.\w+)*$/.test(type) &&
  (type.includes('.') || type === 'abort') &&
  typeof data === 'object' &&
  data !== null &&
  typeof id === 'string' &&
  typeof timestamp === 'string'

/** Events that repeat others, or say what the program did. */
const bookkeeping =
  /^(?:assistant\.(?:turn_\w+|intent|usage)|tool\.(?:execution_start|execution_progress|execution_partial_result|user_requested)|hook\.\w+|session\.(?:shutdown|usage_record|usage_info|resume|idle|info|truncation|background_tasks_changed))$/

export const copilotCli: LineFormat = entryLines({
  format,
  signatures: [['type', 'data', 'id', 'timestamp', 'parentId']],
  matches: (entry) => isEvent(entry) && 'parentId' in entry,
  link: (entry) => linkIn(entry, 'id', 'parentId'),
  read: (entry, sink, line) => {
    const { type } = entry
    const data = objectAt(entry['data'], ['data'])
    const { origin } = sink
    if (type === 'session.start') return readStart(data, sink)
    if (type === 'session.usage_record' || type === 'assistant.usage')
      countUse(data, textIn(data, 'providerCallId'), sink)
    if (type === 'session.shutdown') countTotals(data, sink)
    if (type === 'session.compaction_complete')
      countUse(objectIn(data, 'compactionTokensUsed'), textIn(data, 'requestId'), sink)
    if (type === 'session.title_changed') origin.title = textIn(data, 'title') ?? origin.title
    // A sub-agent's events name the call that began it.
    if (typeof data['parentToolCallId'] === 'string' || typeof entry['agentId'] === 'string') return 'note'
    const messages = messagesOf(type as string, data)
    if (messages !== undefined) {
      const beside = { ...fieldsBeside(entry, ['data', 'type']), data: othersOf(data) }
      return messages.map((message) => withOtherFields(message, format, beside))
    }
    if (type === 'session.compaction_complete' && typeof data['summaryContent'] === 'string') {
      const beside = { ...entry, data: fieldsBeside(data, ['summaryContent']) ?? {} }
      sink.summary(line, { text: data['summaryContent'], before: sink.items, beside })
      return []
    }
    return typeof type === 'string' && bookkeeping.test(type) ? 'aside' : 'note'
  },
})

const readStart = (data: JsonObject, { origin }: Sink): 'note' => {
  origin.describe(data, { id: 'sessionId', version: 'copilotVersion' })
  origin.metadata = { ...origin.metadata, ...fieldsBeside(objectIn(data, 'context'), []) }
  origin.model(data['selectedModel'])
  return 'note'
}

/** A compaction's call has the id of its request, and may also have a record of its own. */
const countUse = (data: JsonObject, key: string | undefined, { origin }: Sink): void => {
  const used = data['usage'] === undefined ? data : objectIn(data, 'usage')
  origin.model(used['model'])
  origin.usage(
    {
      input: used['inputTokens'] ?? used['input'],
      output: used['outputTokens'] ?? used['output'],
      cacheRead: used['cacheReadTokens'] ?? used['cachedInput'],
      cacheWrite: used['cacheWriteTokens'],
    },
    { ...(key !== undefined && { key }) },
  )
}

/**
 * Count the totals of a session's end: those of files before version 1.0.102 have no counts of single calls. The totals of one start of
 * the session include the earlier ones.
 */
const countTotals = (data: JsonObject, { origin }: Sink): void => {
  const snapshot = { ...data, ...objectIn(data, 'accountingSnapshot') }
  for (const [model, metrics] of Object.entries(objectIn(snapshot, 'modelMetrics'))) {
    const used = isObject(metrics) ? objectIn(metrics, 'usage') : {}
    const [input, output] = [used['inputTokens'], used['outputTokens']]
    const [cacheRead, cacheWrite] = [used['cacheReadTokens'], used['cacheWriteTokens']]
    origin.total(model, { input, output, cacheRead, cacheWrite }, String(snapshot['sessionStartTime']))
  }
}

const read = ['content', 'toolRequests', 'reasoningText', 'reasoningOpaque', 'result', 'error', 'toolCallId']

const othersOf = (data: JsonObject): JsonObject => fieldsBeside(data, read) ?? {}

const messagesOf = (type: string, data: JsonObject): readonly Message[] | undefined => {
  switch (type) {
    case 'user.message':
      return [{ role: 'user', content: [textPart(stringAt(data['content'], ['data', 'content']))] }]
    case 'assistant.message': {
      const content: Part[] = []
      const thought = textIn(data, 'reasoningText')
      const signature = textIn(data, 'reasoningOpaque')
      if (thought !== undefined || signature !== undefined)
        content.push({ type: 'reasoning', text: thought ?? '', ...(signature !== undefined && { signature }) })
      const text = textIn(data, 'content')
      if (text !== undefined && text !== '') content.push(textPart(text))
      for (const [index, request] of arrayAt(data['toolRequests'] ?? [], ['data', 'toolRequests']).entries()) {
        const path = ['data', 'toolRequests', index]
        const { toolCallId, name, arguments: args, ...others } = objectAt(request, path)
        const call = callPart(stringAt(toolCallId, [...path, 'toolCallId']), stringAt(name, [...path, 'name']), args)
        content.push(Object.keys(others).length === 0 ? call : { ...call, meta: { [format]: others } })
      }
      return [{ role: 'assistant', content }]
    }
    case 'tool.execution_complete': {
      const { content: own, ...others } = objectIn(data, 'result')
      const { message, ...more } = objectIn(data, 'error')
      const text =
        typeof own === 'string'
          ? own
          : typeof message === 'string'
            ? message
            : JSON.stringify(own ?? data['error'] ?? null)
      const result = resultMessage(stringAt(data['toolCallId'], ['data', 'toolCallId']), [textPart(text)], {
        isError: data['success'] === false,
      })
      const beside = {
        ...(Object.keys(others).length > 0 && { result: others }),
        ...(Object.keys(more).length > 0 && { error: more }),
      }
      return [Object.keys(beside).length === 0 ? result : { ...result, meta: { [`${format}-result`]: beside } }]
    }
    default:
      return undefined
  }
}
