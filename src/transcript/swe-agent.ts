/**
 * SWE-agent: `history` of a trajectory file, in its function-calling and its plain-text style. Its entries are chat
 * messages, but that a result names the calls it answers in `tool_call_ids`, and that an agent's thought and action
 * stand beside its words.
 *
 * Source  SWE-agent/SWE-agent, `sweagent/types.py` (1.1)
 */
import { fieldsBeside, type Json, type JsonObject } from '../json/index.ts'

export const format = 'swe-agent'

/** Whether a value is a trajectory: an object with a `history` of entries that say what kind of message they are. */
export const isTrajectory = (value: JsonObject): boolean => {
  const history = value['history']
  return Array.isArray(history) && history.length > 0 && history.every((entry) => typeof entry === 'object' && entry !== null && 'role' in entry)
}

/** The chat message of an entry; one for each call where several are answered together. */
export const chatMessages = (entry: JsonObject): readonly JsonObject[] => {
  const { tool_call_ids: ids, ...message } = entry
  if (message['role'] !== 'tool' || !Array.isArray(ids)) return [entry]
  return (ids as readonly Json[]).map((id) => Object.assign({ tool_call_id: id }, message))
}

/** What a file says beside its history, without the steps, which say the same as the history again. */
export const metadataOf = (file: JsonObject): JsonObject => fieldsBeside(file, ['history', 'trajectory']) ?? {}
