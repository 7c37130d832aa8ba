/**
 * Conversations that a program exports or keeps as one JSON value: ChatGPT's and Claude.ai's exports, threads of Amp, task files
 * of Cline, Roo Code and Kilo Code, and rollouts of Codex before August 2025.
 *
 * Source  of Codex' rollouts: openai/codex, codex-cli (2025-05)
 */
import { fieldsBeside, isObject, type JsonObject } from 'indelible/internal/json'
import { codecs } from 'indelible/codecs'
import { amp, isAmp } from './amp.ts'
import { chatGpt, isChatGpt } from './chatgpt.ts'
import { claudeAi, isClaudeAi } from './claude-ai.ts'
import { isTaskMessage, task } from './cline.ts'
import type { Conversation } from './found-conversation.ts'
import { objectIn, OriginDraft } from './origin.ts'

/** The conversations of a value in one of these formats; undefined for any other value. */
export const exportedConversations = (value: unknown): readonly Conversation[] | undefined => {
  if (Array.isArray(value) && value.length > 0) {
    const list = value as readonly unknown[]
    if (list.every(isChatGpt)) return list.map(chatGpt)
    if (list.every(isClaudeAi)) return list.map(claudeAi)
    if (list.every(isTaskMessage) && list.some((one) => 'ts' in one)) return [task(list)]
    return undefined
  }
  if (!isObject(value)) return undefined
  if (isChatGpt(value)) return [chatGpt(value)]
  if (isClaudeAi(value)) return [claudeAi(value)]
  if (isAmp(value)) return [amp(value)]
  if (isOldRollout(value)) return [oldRollout(value)]
  return undefined
}

/** A rollout of Codex before August 2025: `{ session, items }`. */
const isOldRollout = (value: JsonObject): boolean =>
  isObject(value['session']) && typeof value['session']['timestamp'] === 'string' && Array.isArray(value['items'])

const oldRollout = (value: JsonObject): Conversation => {
  const origin = new OriginDraft()
  const session = objectIn(value, 'session')
  origin.time(session['timestamp'])
  origin.describe(session, { id: 'id', started: 'timestamp' })
  const others = fieldsBeside(value, ['session', 'items'])
  if (others !== undefined) origin.metadata = { ...origin.metadata, ...others }
  return { format: 'codex', origin, losses: [], decode: () => codecs['openai-responses'].decode(value['items']) }
}
