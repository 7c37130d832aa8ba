/** What sessions a store has. */
import { isLeft, right } from '../json/index.ts'
import type { DamagedEntry, ListFault, ListQuery, Store } from '../store/index.ts'
import { sessionTask, type NoSessionFault } from './fault.ts'
import type { Task } from '../task/index.ts'
import { formatKey, sessionInfo, type SessionInfo } from './metadata.ts'

/** A page of a list of sessions. */
export interface SessionPage {
  /** The last created first. */
  readonly sessions: readonly SessionInfo[]
  /** Logs that are there and that nothing can be said of, sessions or not, whatever `where` asks. */
  readonly damaged?: readonly DamagedEntry[]
  /** Where the next page starts: give it as `after`; absent on the last one. */
  readonly next?: string
}

/** A page of the sessions in a scope, those of this format, with the metadata that is asked for. Cost: O(page). */
export const listSessions = (
  store: Store,
  { where = {}, ...query }: ListQuery = {},
): Task<ListFault | NoSessionFault, SessionPage> =>
  sessionTask(async () => {
    const page = await store.list({ ...query, where: { ...where, [formatKey]: 1 } })()
    if (isLeft(page)) return page
    const sessions: SessionInfo[] = []
    for (const log of page.right.logs) {
      const info = sessionInfo(log)
      if (isLeft(info)) return info
      sessions.push(info.right)
    }
    const { next, damaged } = page.right
    return right(
      Object.freeze({
        sessions: Object.freeze(sessions),
        ...(damaged !== undefined && { damaged }),
        ...(next !== undefined && { next }),
      }),
    )
  })
