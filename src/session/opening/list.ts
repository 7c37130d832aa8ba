/** Lists the sessions of a store. */
import { checkStore } from '../record/store-of.ts'
import { isLeft, optionsOf, ownFields, present } from '../../json/index.ts'
import type { ListFault, ListQuery, Store } from '../../store/index.ts'
import { sessionSteps, type NoSessionFault } from '../fault.ts'
import { amount, need, type Task } from '../../task/index.ts'
import { sessionInfo, type SessionInfo } from '../record/metadata.ts'
import { sessionMember, type DamagedEntry } from '../../store/internal.ts'

/** One page of a list of sessions. */
export interface SessionPage {
  /** The sessions, newest first. */
  readonly sessions: readonly SessionInfo[]
  /** Logs with unreadable metadata, listed for any `where`. They may not be sessions. Absent if there are none. */
  readonly damaged?: readonly DamagedEntry[]
  /** The cursor of the next page: pass it as `after`. Absent on the last page. */
  readonly next?: string
}

/**
 * List the sessions of a scope, page by page. Cost: O(page).
 *
 * @param store the store to list
 * @param options a filter on the metadata, the order, the page size, and the cursor of the page before
 * @returns one page
 * @example
 * const { sessions, next } = await listSessions(store, { where: { user: 'ada' } })
 */
export const listSessions = (store: Store, options: ListQuery = {}): Task<ListFault | NoSessionFault, SessionPage> => {
  checkStore('listSessions', store)
  const { where = {}, ...query } = optionsOf('listSessions', options, optionNames)
  const { limit } = ownFields(query)
  if (limit !== undefined) amount('listSessions: limit', limit, { unit: 'sessions', least: 1, most: 1000, whole: true })
  return sessionSteps(async function* () {
    const page = yield* need(store.list(ownFields({ ...query, where: { ...where, [sessionMember]: 1 } })))
    const sessions: SessionInfo[] = []
    for (const log of page.logs) {
      const info = sessionInfo(log)
      if (isLeft(info) && info.left._tag === 'UnfinishedSession') continue // it must not hide the other sessions
      sessions.push(yield* need(info))
    }
    const { next, damaged } = ownFields(page)
    return Object.freeze({
      sessions: Object.freeze(sessions),
      ...present({ damaged, next }),
    })
  }, 'listSessions')
}

const optionNames = { limit: true, after: true, where: true, by: true } as const
