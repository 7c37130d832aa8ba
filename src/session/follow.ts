/** Following a session: its rows as they are committed, until it is sealed. */
import { followLog, type FollowOptions, type Store, type StoredRow } from '../store/index.ts'
import { isRight } from '../json/index.ts'
import { noteOf } from './mirror.ts'
import type { SessionReader } from './session.ts'
import { storeOfSession } from './store-of.ts'

/** A session by its store and its id. */
export interface SessionPlace {
  /** The store that keeps it. */
  readonly store: Store
  /** Its id in that store. */
  readonly id: string
}

/**
 * The rows of a session from a position on: those that are stored, then each one after its commit, by this process or by
 * any other. None is left out, none comes twice, and they come in order. A sealed session ends the iteration.
 *
 * Positions are those of the log, where messages and notes stand in one order. Each iteration starts at `from` again.
 * Rows are read when they are asked for, so a slow reader holds up nobody. After an error, continue from the last row's
 * position plus 1.
 *
 * Throws  TypeError, if `from` is not a whole number of at least 0. While iterating, a FaultError with the store's fault:
 *         `NoSuchLog` when the session is removed, `Closed` when the store is closed
 * Cost    one read of up to 500 rows for each signal. At rest: nothing in memory; SQLite is polled 5 times a second,
 *         PostgreSQL once in 5 seconds
 * @example
 * for await (const row of follow(session, { from: session.head().size })) console.log(row.kind, row.body)
 */
export const follow = (
  session: SessionReader | SessionPlace,
  options: FollowOptions = {},
): AsyncIterable<StoredRow> => {
  const store = 'store' in session ? session.store : storeOfSession(session)
  const rows = followLog(store, session.id, options)
  return { [Symbol.asyncIterator]: () => untilSealed(rows[Symbol.asyncIterator]()) }
}

const untilSealed = (rows: AsyncIterator<StoredRow>): AsyncIterableIterator<StoredRow> => {
  const end = async (): Promise<IteratorResult<StoredRow, undefined>> => {
    await rows.return?.()
    return { done: true, value: undefined }
  }
  let sealed = false
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    next: async () => {
      if (sealed) return end()
      const next: IteratorResult<StoredRow, undefined> = await rows.next()
      sealed ||= next.done !== true && isSeal(next.value)
      return next
    },
    return: end,
  }
}

const isSeal = ({ kind, body }: StoredRow): boolean => {
  if (kind !== 'note') return false
  const note = noteOf(body)
  return isRight(note) && note.right.type === 'seal'
}
