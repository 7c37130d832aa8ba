/** The lines of Claude Code's session files: their kinds, and their place in the tree. */
import { isObject, type Json, type JsonObject } from 'indelible/internal/json'
import { objectIn, textIn } from '../format/origin.ts'

/** Kinds of bookkeeping lines. They are counted, not read. */
export const bookkeeping: ReadonlySet<unknown> = new Set([
  'agent-color',
  'agent-name',
  'agent-setting',
  'ai-title',
  'attribution-snapshot',
  'content-replacement',
  'cost-state',
  'custom-title',
  'file-history-delta',
  'file-history-snapshot',
  'last-prompt',
  'mode',
  'permission-mode',
  'pr-link',
  'progress',
  'queue-operation',
  'summary',
  'tag',
  'task-summary',
  'worktree-state',
])
export const messageTypes: ReadonlySet<unknown> = new Set([
  'user',
  'assistant',
  'system',
  'attachment',
  'compact_boundary',
])

/** Whether an entry is a line of the tree. Other programs have the same ids, but other messages. */
export const isTreeLine = (entry: JsonObject): boolean =>
  messageTypes.has(entry['type']) &&
  ['uuid', 'parentUuid', 'sessionId'].filter((field) => field in entry).length > 1 &&
  (typeof entry['isSidechain'] === 'boolean' || 'content' in objectIn(entry, 'message')) &&
  !('parts' in objectIn(entry, 'message'))

export const parentIn = (entry: JsonObject): string | undefined =>
  textIn(entry, 'parentUuid') ?? textIn(entry, 'logicalParentUuid')

/** Whether an entry can start a conversation: only a user's line can. */
export const begins = (entry: JsonObject): boolean =>
  entry['type'] === 'user' && 'parentUuid' in entry && !holdsResults(entry)

/** The content of an entry, without the fields of its session. */
export const contentOf = (entry: JsonObject): string => JSON.stringify(entry['message'] ?? entry)

export const holdsResults = ({ type, message }: JsonObject): boolean => {
  const content = type === 'user' && isObject(message) ? message['content'] : undefined
  return (
    Array.isArray(content) &&
    content.length > 0 &&
    (content as readonly Json[]).every((block) => isObject(block) && block['type'] === 'tool_result')
  )
}
