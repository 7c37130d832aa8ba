/** All sessions of a scope, or those with certain metadata. */
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
): Steps<SearchFault, readonly SessionInfo[]> {
  const found: SessionInfo[] = []
  let after: string | undefined
  do {
    const page = yield* need(listSessions(store, { limit: 1000, ...present({ where, after }) }))
    found.push(...page.sessions)
    after = page.next
  } while (after !== undefined)
  return found
}
