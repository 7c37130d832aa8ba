/** Finds sessions by a question, and cuts passages from their messages. */
import type { Message, Role } from 'indelible/message'
import { isErased } from 'indelible/message'
import { isLeft } from 'indelible/internal/json'
import { textsOf } from 'indelible/internal/entry'
import type { Redactor } from 'indelible/redact'
import { searchStore, type SearchHit } from 'indelible/search'
import { readRange } from 'indelible/session'
import type { Store } from 'indelible/store'
import { valueOrUnreadable } from '../sources/place.ts'
import { countText } from '../terminal/screen.ts'
import { withoutOwnResults } from './own-results.ts'

/** A message that may answer the question. */
export type Hit = Pick<SearchHit, 'session' | 'position' | 'excerpt'> & { readonly role: Role }

/** The sessions that may answer a question, the best first. */
export interface FoundSessions {
  readonly sessions: readonly {
    readonly id: string
    readonly hits: readonly Hit[]
    /** The number of its other messages that have words of the question. */
    readonly more: number
  }[]
  /** The number of other sessions that may. */
  readonly more: number
  /** The sessions of which altered messages are left out. */
  readonly altered: readonly string[]
  readonly remarks: readonly string[]
}

/** The sessions among `readable` that may answer a question, at most `limit`. `isAll`: the index has no others. */
export const searchSessions = async (
  store: Store,
  question: string,
  readable: ReadonlyMap<string, unknown>,
  isAll: boolean,
  limit: number,
  passages: number,
): Promise<FoundSessions> => {
  const {
    sessions,
    more,
    unread = 0,
    behind = 0,
    damaged = [],
  } = await valueOrUnreadable(
    searchStore(store, { question, ...(!isAll && { sessions: [...readable.keys()] }), limit, passages }),
  )

  return {
    sessions: sessions
      .filter(({ session }) => readable.has(session))
      .map(({ session, passages: hits, more: others }) => ({ id: session, hits, more: others })),
    more,
    altered: damaged.filter((id) => readable.has(id)),
    remarks:
      unread + behind === 0
        ? []
        : [`${countText(unread + behind, 'message')} not searched: "indelible index" makes them searchable.`],
  }
}

/** The most characters of a passage. */
const mostCharacters = 300

/** The most characters of a message that are read around a hit. */
const mostRead = 1 << 18

/**
 * The text around a hit, without secrets. They are removed before the text is cut, so that no part of one remains.
 * Undefined if the message was erased, can't be read, or is an answer of this server.
 */
export const passageIn = async (store: Store, hit: Hit, redactor: Redactor): Promise<string | undefined> => {
  const { session, position, excerpt } = hit
  const read = await readRange(store, session, position, position + 1)()
  if (isLeft(read)) return undefined
  const message = read.right.view.at(0) as Message | undefined
  if (message === undefined || isErased(message)) return undefined
  const text = textsOf(withoutOwnResults(message))
    .map((part) => part.text)
    .find((part) => part.includes(excerpt.text))
  if (text === undefined) return undefined
  const at = text.indexOf(excerpt.text) + (excerpt.marks[0]?.[0] ?? 0)
  const from = Math.max(0, at - mostRead / 2)
  const whole = text.slice(from, from + mostRead)
  const clean = redactor.text(whole)
  // Where the hit is after redaction, as nearly as a passage needs it.
  const start = clean === whole ? at - from : redactor.quiet.text(whole.slice(0, at - from)).length
  return around(clean, start)
}

/** At most so many characters of a text around a position, from a word's start. */
const around = (text: string, at: number): string => {
  const width = mostCharacters - 2
  const first = Math.max(0, Math.min(at - width / 3, text.length - width))
  const space = first === 0 ? 0 : text.slice(first, first + 40).search(/\s\S/) + 1
  const from = Math.floor(first) + space
  const cut = text.slice(from, from + width).toWellFormed()
  return `${from > 0 ? '…' : ''}${cut.replaceAll(/\s+/g, ' ').trim()}${from + width < text.length ? '…' : ''}`
}
