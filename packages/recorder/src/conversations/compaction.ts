/**
 * Recognizes a client's own compaction of a conversation. The client asks for a summary or drops old messages,
 * and from then on sends other messages for the same conversation: some that it kept, the summary, and new ones.
 *
 * The signs: a client's request leaves the conversation, but contains the client's last answer, as a message
 * or as text within one. If the summary was requested in the conversation, that request is retracted. A note
 * records which messages are sent from then on, so that the next call, even after a restart, continues them.
 *
 * Source  Claude Code 2.1.330, Codex 0.169.0 and opencode 1.18.33 on loopback (2026-11)
 */
import { isObject, type Immutable, type JsonObject } from 'indelible/internal/json'
import { textOf, type Message } from 'indelible/message'
import type { ApplicationNote } from 'indelible/internal/notes'
import type { SessionReader } from 'indelible/session'
import { identityOf } from '../messages/identity.ts'
import { expandRuns, runsOf, type SentRuns, type SentEntries } from './receipt.ts'

/** The change that a client's compaction, or another beginning of its requests, made to a conversation. */
export interface Compaction {
  /** The index in the conversation from which the request for the summary is retracted; its length if nothing is. */
  readonly upTo: number
  /** The summary as text; undefined if there is none, or if only its provider can read it. */
  readonly summary: string | undefined
  /** For each message of the request: its index in the conversation, or whether it is new or part of the compaction. */
  readonly places: readonly (number | 'new' | 'made')[]
}

export interface IndexedMessages {
  readonly len: number
  /** Undefined for messages that exist only in a compaction. */
  readonly at: (index: number) => Immutable<Message> | undefined
  readonly identityAt: (index: number) => string
}

/**
 * The compaction that leads from a conversation to a request; undefined if there is none.
 *
 * Cost    O(request + last answers) if there is none, else O(request + conversations)
 * @param shared the number of messages that the request shares with the conversation
 * @param others the same client's other conversations
 */
export const compactionOf = (
  recorded: IndexedMessages,
  messages: readonly Message[],
  shared: number,
  others: readonly IndexedMessages[],
): Compaction | undefined => {
  // A client that quotes an answer after unchanged ones has gone back, not compacted.
  if (messages.slice(0, shared).some(({ role }) => role === 'assistant')) return undefined
  const ids = messages.map(identityOf)
  const own = holderOf(recorded, messages, ids, shared)
  if (own !== undefined) {
    const question = questionOf(recorded)
    const known = new Set(ids.slice(0, own.index))
    const isAsked = someIndex(question, recorded.len - 1, (index) => known.has(recorded.identityAt(index)))
    // If a question is sent again before its answer, it was not a request for a summary: earlier messages were dropped.
    if (question < recorded.len - 1 && !isAsked) return compaction(recorded, ids, question, own)
    if (own.isWhole) return compaction(recorded, ids, recorded.len, undefined)
  }
  for (const other of others) {
    const found = holderOf(other, messages, ids, shared)
    if (found !== undefined && quotesOther(other, recorded)) return compaction(recorded, ids, recorded.len, found)
  }
  return undefined
}

/** The place of an answer in a request: as a message, or as text in one. */
interface Holder {
  readonly index: number
  /** Whether the message is exactly the answer. */
  readonly isWhole: boolean
  readonly summary: string | undefined
}

/** Where a request contains a conversation's last answer, after the shared messages. */
const holderOf = (
  recorded: IndexedMessages,
  messages: readonly Message[],
  ids: readonly string[],
  shared: number,
): Holder | undefined => {
  const answer = recorded.at(recorded.len - 1)
  if (answer?.role !== 'assistant' || isDigested(answer)) return undefined
  const summaries = summariesIn(textOf(answer))
  const same = ids.indexOf(recorded.identityAt(recorded.len - 1), shared)
  if (same !== -1) return { index: same, isWhole: true, summary: summaries[0]?.text }
  for (let index = shared; index < messages.length; index++) {
    const text = joinSpaces(textOf(messages[index] as Message))
    const summary = summaries.find((candidate) => text.includes(candidate.spaced))
    if (summary !== undefined) return { index, isWhole: false, summary: summary.text }
  }
  return undefined
}

/** Whether the first conversation quotes a user text of the second. */
const quotesOther = (about: IndexedMessages, recorded: IndexedMessages): boolean => {
  const textsOfMessages = (indexed: IndexedMessages, role?: string): readonly string[] =>
    Array.from({ length: indexed.len }, (_, index) => indexed.at(index)).flatMap((message) =>
      message === undefined || (role !== undefined && message.role !== role) ? [] : [joinSpaces(textOf(message))],
    )
  const all = textsOfMessages(about).join(' ')
  return textsOfMessages(recorded, 'user').some((text) => text.length >= 8 && all.includes(text))
}

/** Whether only the message's lengths are recorded. Such text could match by accident. */
const isDigested = ({ meta }: Immutable<Message>): boolean => {
  const own = meta?.['indelible']
  return isObject(own) && own['digest'] !== undefined
}

/**
 * The texts of an answer that a summary may quote: the whole text, or its longest elements. Short texts do not count.
 */
const summariesIn = (answer: string): readonly { readonly text: string; readonly spaced: string }[] =>
  [
    answer,
    ...elementContents(answer)
      .toSorted((a, b) => b.length - a.length)
      .slice(0, mostSummaries),
  ]
    .map((text) => ({ text: text.trim(), spaced: joinSpaces(text) }))
    .filter(({ spaced }) => spaced.length >= 20)

/** The most summaries to search for in each message of a request. */
const mostSummaries = 16

/**
 * The contents of the outermost elements of a text, each up to the first closing tag of its name.
 * Cost: O(text), however deep they nest.
 */
const elementContents = (text: string): readonly string[] => {
  // Reversed: the next closing tag is the last in its list.
  const ends = Map.groupBy([...text.matchAll(/<\/(\w+)>/g)].toReversed(), ({ 1: name = '' }) => name)
  const insides: string[] = []
  let behind = 0
  for (const { 0: tag, 1: name = '', index } of text.matchAll(/<(\w+)>/g)) {
    const known = ends.get(name)
    if (index < behind || known === undefined) continue
    while ((known.at(-1)?.index ?? Infinity) < index) known.pop()
    const end = known.at(-1)?.index
    if (end === undefined) continue
    insides.push(text.slice(index + tag.length, end))
    behind = end
  }
  return insides
}

const joinSpaces = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()

/** The index of the first message of the question that the conversation's last message answers. */
const questionOf = (recorded: IndexedMessages): number => {
  let index = recorded.len - 1
  while (index > 0 && !['assistant', 'tool'].includes(recorded.at(index - 1)?.role ?? '')) index--
  return index
}

const someIndex = (from: number, to: number, is: (index: number) => boolean): boolean => {
  for (let index = from; index < to; index++) if (is(index)) return true
  return false
}

const compaction = (
  recorded: IndexedMessages,
  ids: readonly string[],
  upTo: number,
  held: Holder | undefined,
): Compaction | undefined => {
  const indexes = Map.groupBy(Array(upTo).keys(), (index) => recorded.identityAt(index))
  let next = 0
  const places: (number | 'new' | 'made')[] = ids.map((id) => {
    const index = indexes.get(id)?.find((position) => position >= next)
    if (index === undefined) return 'new'
    next = index + 1
    return index
  })
  const kept = places.findLastIndex((place) => typeof place === 'number')
  const made = held?.index ?? kept
  if (held !== undefined) places[held.index] = 'made'
  else if (kept === -1) return undefined
  for (let index = 0; index < made; index++) if (places[index] === 'new') places[index] = 'made'
  return { upTo, summary: held?.summary, places }
}

/** Whether a message is one of the system prompt's. */
export const isInstruction = ({ role }: { readonly role: string }): boolean => role === 'system' || role === 'developer'

/** The number of system and developer messages at the beginning of a request. */
export const setupLength = (messages: readonly Message[]): number => {
  const first = messages.findIndex((message) => !isInstruction(message))
  return first === -1 ? messages.length : first
}

/** The messages that a client sends since its last compaction; those after `from` in the record follow. */
export interface Base {
  readonly entries: SentEntries
  readonly identities: readonly string[]
  /** The position in the record after which the conversation continues. */
  readonly from: number
  /** The number of entries at the beginning that are system messages. Default: 0. */
  readonly setup?: number
}

/** A conversation that its client has not compacted. */
export const noBase: Base = { entries: [], identities: [], from: 0 }

const namespace = 'indelible.recorder'

/** The note of a base. It has identities only for entries that are not messages of the record. */
export const noteOfBase = ({ entries, identities, from, setup }: Base): ApplicationNote => ({
  type: 'application',
  namespace,
  content: JSON.parse(
    JSON.stringify({
      sent: runsOf(entries),
      identities: identities.filter((_, index) => typeof entries[index] === 'string'),
      from,
      setup,
    }),
  ) as JsonObject,
})

/** The last base noted. Cost: O(notes). */
export const baseOf = (session: SessionReader): Base => {
  const notes = session.notes()
  for (let index = notes.length - 1; index >= 0; index--) {
    const note = notes.at(index)
    if (note?.type !== 'application' || note.namespace !== namespace || !isObject(note.content)) continue
    const { sent, identities, from, setup } = note.content
    if (!Array.isArray(sent) || !Array.isArray(identities) || typeof from !== 'number') continue // a newer version's
    const others = (identities as readonly string[]).values()
    const entries = expandRuns(sent as unknown as SentRuns)
    const view = session.view()
    return {
      entries,
      identities: entries.map((entry) =>
        typeof entry === 'string' ? (others.next().value ?? '') : identityOf(view.at(entry) as Message),
      ),
      from,
      ...(typeof setup === 'number' && { setup }),
    }
  }
  return noBase
}
