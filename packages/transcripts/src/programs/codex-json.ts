/**
 * A rollout of Codex before August 2025: one JSON value, `{ session, items }`.
 *
 * Source  openai/codex, codex-cli (2025-05)
 */
import { codecs } from 'indelible/codecs'
import { fieldsBeside, isObject, type JsonObject } from 'indelible/internal/json'
import type { Conversation, ValueFormat } from '../format/found-conversation.ts'
import { objectIn, OriginDraft } from '../format/origin.ts'

export const codexJson: ValueFormat = {
  format: 'codex',
  signatures: [['session', 'items']],
  conversations: (value) => (isObject(value) && isRollout(value) ? [rollout(value)] : undefined),
}

const isRollout = (value: JsonObject): boolean =>
  isObject(value['session']) && typeof value['session']['timestamp'] === 'string' && Array.isArray(value['items'])

const rollout = (value: JsonObject): Conversation => {
  const origin = new OriginDraft()
  const session = objectIn(value, 'session')
  origin.time(session['timestamp'])
  origin.describe(session, { id: 'id', started: 'timestamp' })
  const others = fieldsBeside(value, ['session', 'items'])
  if (others !== undefined) origin.metadata = { ...origin.metadata, ...others }
  return { format: 'codex', origin, losses: [], decode: () => codecs['openai-responses'].decode(value['items']) }
}
