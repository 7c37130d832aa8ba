/** What sessions a store has. */
import { checkStore } from '../record/store-of.ts'
import { isLeft, right, optionsOf, ownFields } from '../../json/index.ts'
import type { DamagedEntry, ListFault, ListQuery, Store } from '../../store/index.ts'
import { sessionTask, type NoSessionFault } from '../fault.ts'
import type { Task } from '../../task/index.ts'
import { formatKey, sessionInfo, type SessionInfo } from '../record/metadata.ts'

/** One page of a list of sessions. */
export interface SessionPage {
  /** The sessions, newest first. */
  readonly sessions: readonly SessionInfo[]
  /** Logs with unreadable metadata, sessions or not, whatever `where` asks for. Absent if there are none. */
  readonly damaged?: readonly DamagedEntry[]
  /** The cursor of the next page: give it as `after`. Absent on the last page. */
  readonly next?: string
}

/**
 * List the sessions of a scope, page by page. Cost: O(page).
 *
 * @param store the store to list
 * @param options a filter on the metadata, the order, the size of a page, and the cursor of the last page
 * @returns one page
 * @example
 * const { sessions, next } = await listSessions(store, { where: { user: 'ada' } })
 */
export const listSessions = (store: Store, options: ListQuery = {}): Task<ListFault | NoSessionFault, SessionPage> => {
  checkStore('listSessions', store)
  const { where = {}, ...query } = optionsOf('listSessions', options, known)
  return sessionTask(async () => {
    const page = await store.list({ ...query, where: { ...where, [formatKey]: 1 } })()
    if (isLeft(page)) return page
    const sessions: SessionInfo[] = []
    for (const log of page.right.logs) {
      const info = sessionInfo(log)
      if (isLeft(info)) return info
      sessions.push(info.right)
    }
    const { next, damaged } = ownFields(page.right)
    return right(
      Object.freeze({
        sessions: Object.freeze(sessions),
        ...(damaged !== undefined && { damaged }),
        ...(next !== undefined && { next }),
      }),
    )
  }, 'listSessions')
}

const known = { limit: true, after: true, where: true, by: true } as const
