/** What sessions a store has. */
import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { ListQuery, Store } from '../store/index.ts'
import type { SessionTask } from './fault.ts'
import { formatKey, sessionInfo, type SessionInfo } from './metadata.ts'

export interface SessionPage {
  /** The last created first. */
  readonly sessions: readonly SessionInfo[]
  /** Where the next page starts: give it as `after`; absent on the last one. */
  readonly next?: string
}

/** A page of the sessions in a scope, those of this format, with the metadata that is asked for. Cost: O(page). */
export const listSessions =
  (store: Store, { where = {}, ...query }: ListQuery = {}): SessionTask<SessionPage> =>
  async () => {
    const page = await store.list({ ...query, where: { ...where, [formatKey]: 1 } })()
    if (isLeft(page)) return page
    const sessions: SessionInfo[] = []
    for (const log of page.right.logs) {
      const info = sessionInfo(log)
      if (isLeft(info)) return info
      sessions.push(info.right)
    }
    const { next } = page.right
    return right(Object.freeze({ sessions: Object.freeze(sessions), ...(next !== undefined && { next }) }))
  }
