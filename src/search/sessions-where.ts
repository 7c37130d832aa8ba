/** All sessions of a scope, or those with certain metadata or ids. */
import { present } from '../json/index.ts'
import { listSessions, type SessionInfo } from '../session/index.ts'
import type { Store } from '../store/index.ts'
import { need, type Steps } from '../task/index.ts'
import type { SearchFault } from './fault.ts'
import type { QuestionPlan } from './hit.ts'

/** @returns the sessions, newest first */
export async function* sessionsWhere(
  store: Store,
  where: QuestionPlan['where'],
  sessions?: QuestionPlan['sessions'],
): Steps<SearchFault, readonly SessionInfo[]> {
  const found: SessionInfo[] = []
  const wanted = sessions && new Set(sessions)
  let after: string | undefined
  do {
    const page = yield* need(listSessions(store, { limit: 1000, ...present({ where, after }) }))
    for (const info of page.sessions) if (wanted?.has(info.id) !== false) found.push(info)
    after = page.next
  } while (after !== undefined)
  return found
}
