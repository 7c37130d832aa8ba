/** Compares a request with recorded conversations: how much they share, where, and which of several it continues. */
import type { Message } from 'indelible/message'
import { isInstruction } from './compaction.ts'
import type { Conversation } from './conversation.ts'
import { identityOf } from '../messages/identity.ts'
import { blockIdOf, lastDetails } from './receipt.ts'
import type { ParsedRequest } from '../requests/wire.ts'

/** The most conversations with the same beginning to compare, latest first. */
export const maxCandidates = 32

/** A conversation, and the number of messages that it shares with a request. */
export interface Match {
  readonly conversation: Conversation
  readonly len: number
}

/** Who sends a request. */
export type Asker = Partial<Pick<ParsedRequest, 'client' | 'caller'>>

/** The number of messages that a chain shares with a conversation; at least `from`. */
export const sharedFrom = (from: number, conversation: Conversation, chain: readonly string[]): number => {
  let shared = from
  while (shared + 1 < chain.length && conversation.chainAt(shared + 1) === chain[shared + 1]) shared++
  return shared
}

/** Whether the first `len` messages have an answer. */
export const hasAnswer = (messages: readonly Message[], len: number): boolean =>
  messages.slice(0, len).some(({ role }) => role === 'assistant')

/**
 * Of conversations that share as many messages, the one that the asker continues: two conversations can begin with
 * the same question and the same answer. First of its own name, then without later messages, then of its credentials.
 */
export const bestOf = (matches: readonly Match[], { client, caller }: Asker): Match | undefined => {
  const score = ({ conversation, len }: Match): number =>
    (conversation.client !== client ? 0 : client === undefined ? 2 : 8) +
    (conversation.len === len ? 4 : 0) +
    (conversation.caller === caller ? 1 : 0)
  return matches.toSorted((a, b) => score(b) - score(a))[0]
}

/**
 * The index in a conversation at which it last has a run of messages; undefined if it has none. Of more than 32 places
 * with the run's last message only the latest are compared, so that a conversation of equal messages takes no longer.
 */
export const startOf = (conversation: Conversation, run: readonly string[]): number | undefined => {
  const identities: string[] = []
  const identityAt = (index: number): string => (identities[index] ??= conversation.identityAt(index))
  let compared = 0
  for (let start = conversation.len - run.length; start >= 0 && compared < maxCandidates; start--) {
    if (identityAt(start + run.length - 1) !== run.at(-1)) continue
    if (run.every((identity, index) => identityAt(start + index) === identity)) return start
    compared++
  }
  return undefined
}

/** Whether a request has the tools or the system text of a conversation, or the same system messages. */
export const hasSameSetup = (
  conversation: Conversation,
  { system, tools }: ParsedRequest,
  messages: readonly Message[],
): boolean => {
  const before = lastDetails(conversation.session)
  if (tools !== undefined && before?.tools === blockIdOf(tools)) return true
  if (system !== undefined && before?.system === blockIdOf(system)) return true
  const report = new Set(messages.filter(isInstruction).map(identityOf))
  const first = Array.from({ length: Math.min(8, conversation.len) }, (_, index) => conversation.at(index))
  const others = first.flatMap((message) =>
    message !== undefined && isInstruction(message) ? [message as Message] : [],
  )
  if (others.some((message) => report.has(identityOf(message)))) return true
  return before?.tools === undefined && before?.system === undefined && others.length === 0 && report.size === 0
}
