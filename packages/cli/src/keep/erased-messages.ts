/** What was erased or removed in a store, by marks that have no text: `keep` must not store it again. */
import { isLeft, jsonIn } from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import { erasedMessage } from 'indelible/internal/message'
import { decodeRow } from 'indelible/internal/entry'
import type { Store } from 'indelible/store'
import { ledgerContent } from 'indelible/internal/store'
import { sourceTimeOf } from '@indelible/transcripts'
import { valueOrUnreadable } from '../sources/place.ts'
import { allSessions } from '../sources/sessions.ts'

export interface ErasedMessages {
  /** Whether nothing was erased in the store. */
  readonly isEmpty: boolean
  /** Whether a message was erased in any session: its role, its call ids and its time in the source are the same. */
  readonly has: (message: Message) => boolean
  /** Whether a message was written after the last erasure. */
  readonly isLater: (message: Message) => boolean
  /** Whether a session was removed, and nobody asked to keep it again. */
  readonly isRemoved: (id: string) => boolean
}

/** Nothing was erased or removed. */
export const nothingErased: ErasedMessages = {
  isEmpty: true,
  has: () => false,
  isLater: () => false,
  isRemoved: () => false,
}

/**
 * Read what was erased and removed in a scope.
 *
 * Cost    the ledger; if something was erased, the erased rows of all sessions
 *
 * @param again the ids of removed sessions to keep again
 */
export const erasedIn = async (store: Store, again: readonly string[]): Promise<ErasedMessages> => {
  const { erasures, sessions } = await valueOrUnreadable(() => ledgerContent(store))
  const marks = new Set<string>()
  if (erasures.length > 0)
    for await (const { id } of allSessions(store)) {
      const rows = erasures.filter((one) => one.id === id).flatMap((one) => one.rows)
      for (const { row, kind } of rows) {
        const read = kind === 'entry' ? await store.read(id, { from: row, to: row + 1 })() : undefined
        const stored = read === undefined || isLeft(read) ? undefined : read.right[0]
        const decoded = stored?.erased === undefined ? undefined : decodeRow(stored.body)
        if (stored !== undefined && decoded !== undefined && !isLeft(decoded))
          marks.add(markOf(jsonIn(decoded.right.text) as unknown as Message, stored.at))
      }
    }
  const latest = erasures.reduce((last, { at }) => Math.max(last, at), 0)
  return {
    isEmpty: erasures.length === 0,
    has: (message) => {
      const time = marks.size === 0 ? undefined : sourceTimeOf(message)
      return time !== undefined && marks.has(markOf(erasedMessage(message), time))
    },
    isLater: (message) => (sourceTimeOf(message) ?? 0) > latest,
    isRemoved: (id) => sessions.get(id)?.removed === true && !again.includes(id),
  }
}

const markOf = (stub: Message, at: number): string =>
  `${at} ${JSON.stringify({ role: stub.role, content: stub.content })}`
