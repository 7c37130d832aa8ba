/** Follows a session: yields its rows as they are committed, until it is sealed. */
import type { Store, StoredRow } from '../../store/index.ts'
import { isRight } from '../../json/index.ts'
import { noteOf } from '../record/loaded-record.ts'
import type { SessionReader } from '../session.ts'
import { storeOfSession } from '../record/store-of.ts'
import { followRows, type FollowOptions } from '../../store/internal.ts'

/** A session, named by its store and id. */
interface SessionPlace {
  /** The store that has it. */
  readonly store: Store
  /** Its id in that store. */
  readonly id: string
}

/**
 * Follow a session from a position: first its stored rows, then each new row after its commit, by this
 * process or any other. Each row comes once, in order. The iteration ends when the session is sealed.
 *
 * Positions count the rows of the log, messages and notes together. Each iteration starts at `from`
 * again. Rows are read when you ask for them, so a slow reader delays no one else. After an error,
 * continue at the last row's position plus 1.
 *
 * Cost    one read of up to 256 rows for each signal. When idle: nothing in memory; SQLite is
 *         polled 5 times a second, PostgreSQL every 5 seconds
 *
 * @param session a session, or its store and id
 * @param options the first position, and a signal that ends the iteration
 * @returns the rows
 * @throws TypeError if `from` is not a whole number of at least 0. While iterating, a FaultError
 * with the store's fault: `NoSuchLog` when the session is removed, `Closed` when the store is
 * closed
 * @example
 * for await (const row of follow(session, { from: session.head().size })) console.log(row.kind, row.body)
 */
export const follow = (
  session: SessionReader | SessionPlace,
  options: FollowOptions = {},
): AsyncIterable<StoredRow> => {
  const store =
    typeof session === 'object' && session !== null && 'store' in session ? session.store : storeOfSession(session)
  return followRows(store, session.id, options, isSeal)
}

const isSeal = ({ kind, body }: StoredRow): boolean => {
  if (kind !== 'note') return false
  const note = noteOf(body)
  return isRight(note) && note.right.type === 'seal'
}
