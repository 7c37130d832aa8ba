/**
 * SWE-agent: `history` of a trajectory file, in its function-calling and its plain-text style. Its
 * entries are chat messages, except that a result names its calls in `tool_call_ids`, and that an
 * agent's thought and action are separate fields.
 *
 * Source  SWE-agent/SWE-agent, `sweagent/types.py` (1.1)
 */
import { codecs } from 'indelible/codecs'
import { fieldsBeside, isObject, type Json, type JsonObject } from 'indelible/internal/json'
import { atPath, metadataOf } from '../format/conversation-of-value.ts'
import type { Conversation, ValueFormat } from '../format/found-conversation.ts'
import { count, objectIn } from '../format/origin.ts'

export const sweAgent: ValueFormat = {
  format: 'swe-agent',
  signatures: [['history', 'trajectory']],
  conversations: (value) => (isObject(value) && isTrajectory(value) ? [trajectory(value)] : undefined),
}

const trajectory = (file: JsonObject): Conversation => {
  const { origin, losses } = metadataOf(othersOf(file))
  const history = file['history'] as readonly JsonObject[]
  const steps = stepsOf(file).length
  if (steps > 0) origin.aside('step of the trajectory', steps)
  const unasked = history.flatMap((entry, index) =>
    answersNothing(entry)
      ? [{ path: ['history', index, 'role'], reason: 'is "tool", but it answers no call: read as "user"' }]
      : [],
  )
  const stats = objectIn(objectIn(file, 'info'), 'model_stats')
  if (count(stats['tokens_sent']) > 0)
    origin.usage(
      { input: stats['tokens_sent'], output: stats['tokens_received'], cacheRead: 0, cacheWrite: 0 },
      { isSum: true },
    )
  return {
    format: 'swe-agent',
    decode: () => atPath(['history'], codecs['openai-chat'].decode(history.flatMap(chatMessages))),
    origin,
    losses: [...losses, ...unasked],
  }
}

/** Whether a value is a trajectory: an object with a `history` of entries that have a `role`. */
const isTrajectory = (value: JsonObject): boolean => {
  const history = value['history']
  return (
    Array.isArray(history) &&
    history.length > 0 &&
    history.every((entry) => typeof entry === 'object' && entry !== null && 'role' in entry)
  )
}

/** The chat message of an entry; one for each call if it answers several. */
const chatMessages = (entry: JsonObject): readonly JsonObject[] => {
  const { tool_call_ids: ids, ...message } = entry
  if (message['role'] !== 'tool' || typeof entry['tool_call_id'] === 'string') return [entry]
  if (answersNothing(entry)) return [{ ...entry, role: 'user' }]
  return Array.isArray(ids) ? (ids as readonly Json[]).map((id) => answerTo(id, message)) : [entry]
}

const answerTo = (id: Json, message: JsonObject): JsonObject => ({ ...message, tool_call_id: id })

/** Whether an entry is tool output without a call. Providers reject that, so it is read as a user message. */
const answersNothing = ({ role, tool_call_id: id, tool_call_ids: ids }: JsonObject): boolean =>
  role === 'tool' && typeof id !== 'string' && (ids === undefined || ids === null || isEmpty(ids))

const isEmpty = (value: Json): boolean => Array.isArray(value) && value.length === 0

/** The steps. They repeat the history, so they are only counted. */
const stepsOf = (file: JsonObject): readonly Json[] =>
  Array.isArray(file['trajectory']) ? (file['trajectory'] as readonly Json[]) : []

/** A file's fields other than its history and its steps. */
const othersOf = (file: JsonObject): JsonObject =>
  fieldsBeside(file, ['history', ...(Array.isArray(file['trajectory']) ? ['trajectory'] : [])]) ?? {}
