/**
 * SWE-agent: `history` of a trajectory file, in its function-calling and its plain-text style. Its
 * entries are chat messages, except that a result names its calls in `tool_call_ids`, and that an
 * agent's thought and action are separate fields.
 *
 * Source  SWE-agent/SWE-agent, `sweagent/types.py` (1.1)
 */
import { fieldsBeside, type Json, type JsonObject } from 'indelible/internal/json'

export const format = 'swe-agent'

/** Whether a value is a trajectory: an object with a `history` of entries that have a `role`. */
export const isTrajectory = (value: JsonObject): boolean => {
  const history = value['history']
  return (
    Array.isArray(history) &&
    history.length > 0 &&
    history.every((entry) => typeof entry === 'object' && entry !== null && 'role' in entry)
  )
}

/** The chat message of an entry; one for each call if it answers several. */
export const chatMessages = (entry: JsonObject): readonly JsonObject[] => {
  const { tool_call_ids: ids, ...message } = entry
  if (message['role'] !== 'tool' || typeof entry['tool_call_id'] === 'string') return [entry]
  if (answersNothing(entry)) return [{ ...entry, role: 'user' }]
  return Array.isArray(ids) ? (ids as readonly Json[]).map((id) => answerTo(id, message)) : [entry]
}

const answerTo = (id: Json, message: JsonObject): JsonObject => ({ ...message, tool_call_id: id })

/** Whether an entry is tool output without a call. Providers reject that, so it is read as a user message. */
export const answersNothing = ({ role, tool_call_id: id, tool_call_ids: ids }: JsonObject): boolean =>
  role === 'tool' && typeof id !== 'string' && (ids === undefined || ids === null || isEmpty(ids))

const isEmpty = (value: Json): boolean => Array.isArray(value) && value.length === 0

/** The steps. They repeat the history, so they are only counted. */
export const stepsOf = (file: JsonObject): readonly Json[] =>
  Array.isArray(file['trajectory']) ? (file['trajectory'] as readonly Json[]) : []

/** A file's fields other than its history and its steps. */
export const metadataOf = (file: JsonObject): JsonObject =>
  fieldsBeside(file, ['history', ...(Array.isArray(file['trajectory']) ? ['trajectory'] : [])]) ?? {}
