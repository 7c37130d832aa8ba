/** Explains what a stored session's calls paid for. */
import { checkArgument, isObject } from '../json/index.ts'
import { describeSession, type ReadSessionFault, type SessionInfo } from '../session/index.ts'
import { checkStore, sessionSteps } from '../session/internal.ts'
import type { Store } from '../store/index.ts'
import { need, type Task } from '../task/index.ts'
import { explainCalls } from './explain.ts'
import { callsIn } from './session-calls.ts'
import { sumCalls, type ExplainedUsage } from './sums.ts'

/**
 * Explain every token of a session's model calls: which were read from the provider's cache, which were new, and which were sent
 * again and why. The parts of each call add up to the provider's counts.
 *
 * Cost    O(calls). One read of the store for the notes, and one for the description; no message is read
 *
 * @param store the store that has the session
 * @param session the id of the session, or its description, which saves reading it
 * @returns the calls from its receipts and from its imported file, with their sums; or `NoSuchLog`
 * @throws TypeError if the store is not a store, or the session not an id
 * @example
 * const usage = await explainUsage(store, 'session')
 * usage.causes[0]?.cause // 'read'
 */
export const explainUsage = (store: Store, session: string | SessionInfo): Task<ReadSessionFault, ExplainedUsage> => {
  checkStore('explainUsage', store)
  checkArgument(
    'explainUsage',
    typeof session === 'string' || isInfo(session),
    'the id of a session, or its description',
    session,
  )
  return sessionSteps(async function* () {
    const info = typeof session === 'string' ? yield* need(describeSession(store, session)) : session
    const notes = info.head.size === info.len ? [] : yield* need(store.read(info.id, { only: 'note' }))
    const explained = explainCalls(callsIn(info, notes))
    return Object.freeze({ explained, ...sumCalls(explained) })
  }, 'explainUsage')
}

const isInfo = (value: unknown): boolean => isObject(value) && isObject(value['head']) && isObject(value['metadata'])
