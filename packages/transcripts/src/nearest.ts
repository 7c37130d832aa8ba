/** For a value in no known format: the formats that it is most like, and what it lacks of them. */
import { isObject } from 'indelible/internal/json'
import type { TranscriptFormat } from './transcript.ts'

/** The fields of an entry, or of a whole file, that show a format together. */
const signatures: readonly (readonly [TranscriptFormat, readonly string[]])[] = [
  ['claude-code', ['type', 'uuid', 'parentUuid', 'sessionId', 'message']],
  ['claude-stream', ['type', 'message', 'parent_tool_use_id', 'session_id']],
  ['codex', ['timestamp', 'type', 'payload']],
  ['codex', ['session', 'items']],
  ['codex-exec', ['type', 'item', 'thread_id']],
  ['gemini-cli', ['id', 'timestamp', 'type', 'content']],
  ['gemini-cli', ['sessionId', 'projectHash', 'messages']],
  ['qwen-code', ['uuid', 'parentUuid', 'sessionId', 'type', 'message', 'cwd']],
  ['copilot-cli', ['type', 'data', 'id', 'timestamp', 'parentId']],
  ['pi-session', ['type', 'id', 'parentId', 'timestamp', 'message']],
  ['opencode', ['info', 'messages']],
  ['droid', ['type', 'id', 'parentId', 'message']],
  ['goose', ['role', 'created', 'content']],
  ['cline', ['role', 'content', 'ts']],
  ['amp', ['v', 'id', 'messages']],
  ['chatgpt', ['mapping', 'current_node', 'title']],
  ['claude-ai', ['uuid', 'name', 'chat_messages']],
  ['swe-agent', ['history', 'trajectory']],
  ['openai-chat', ['role', 'content']],
  ['openai-chat', ['messages', 'model']],
]

/** A clause for a fault, such as `nearest is cline, which also has "role"`; empty if nothing is near. */
export const nearestText = (value: unknown): string => {
  const entry = Array.isArray(value) ? (value as readonly unknown[]).find(isObject) : value
  if (!isObject(entry)) return ''
  const near = signatures
    .map(([format, fields]) => ({
      format,
      size: fields.length,
      lacks: fields.filter((field) => !Object.hasOwn(entry, field)),
    }))
    .filter(({ size, lacks }) => lacks.length * 2 <= size)
    .toSorted((a, b) => a.lacks.length - b.lacks.length || b.size - a.size)
    .slice(0, 2)
  if (near.length === 0) return ''
  const each = near.map(({ format, lacks }) =>
    lacks.length === 0
      ? `${format}, which has these fields with other values`
      : `${format}, which also has ${lacks.map((field) => JSON.stringify(field)).join(', ')}`,
  )
  return ` (nearest: ${each.join('; ')})`
}
