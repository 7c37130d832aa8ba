/** Adds up the calls of all sessions of a scope. */
import { orThrow } from 'indelible'
import { isLeft, present } from 'indelible/internal/json'
import { sessionInfo } from 'indelible/internal/session'
import { SumsReader } from 'indelible/internal/usage'
import { sessionMember } from 'indelible/internal/store'
import type { SessionInfo } from 'indelible/session'
import type { LogInfo, Store } from 'indelible/store'
import { explainUsage } from 'indelible/usage'
import { importedFrom, projectIn, workFolderOf } from '../texts/about.ts'
import type { Spending, SpendingSession } from './spending.ts'

export interface StoreSpendingOptions {
  /** How the sums name a session. Default: its id. */
  readonly name?: (id: string) => string
  /** Whether computed sums are kept in a store that can be written to. Default: true. */
  readonly keep?: boolean
  /** Called after each session. */
  readonly progress?: (done: number, of: number) => void
}

/** The sessions of a scope whose calls were added up. */
export interface AddedSessions {
  /** All sessions of the scope, by their names in the sums. */
  readonly sessions: ReadonlyMap<string, SessionInfo>
  /** The names of those that could not be read without their key. */
  readonly unread: ReadonlySet<string>
}

/**
 * Add the calls of all sessions of a scope. Sums that the store keeps are read with the list of its sessions. Others are computed, and
 * kept if the store can be written to.
 *
 * Cost    a list of the sessions; O(calls) of those without kept sums
 *
 * @throws FaultError if the list or a session can't be read, except for a missing key
 */
export const addStore = async (
  spending: Spending,
  store: Store,
  { name = (id) => id, keep = true, progress = () => {} }: StoreSpendingOptions = {},
): Promise<AddedSessions> => {
  const reader = new SumsReader(store)
  const logs = await sessionLogs(store)
  const sessions = new Map<string, SessionInfo>()
  const unread = new Set<string>()
  let canKeep = keep
  for (let from = 0; from < logs.length; from += sessionsAtOnce) {
    const some = logs.slice(from, from + sessionsAtOnce)
    const found = await Promise.all(some.map((log) => reader.sumsOf(log)()))
    for (const [index, summed] of found.entries()) {
      const log = some[index] as LogInfo
      if (isLeft(summed) && passedOver.has(summed.left._tag)) continue
      const info = orThrow(sessionInfo(log))
      const session = name(info.id)
      sessions.set(session, info)
      if (isLeft(summed) && summed.left._tag === 'NoKey') {
        unread.add(session)
        continue
      }
      const { sums, wereKept } = orThrow(summed)
      spending.addSums(spendingSession(session, info), sums, async () => (await explainUsage(store, info)).explained)
      if (!canKeep || wereKept || sums.groups.length === 0) continue
      const kept = await reader.keep(log, sums)()
      canKeep = !isLeft(kept) || kept.left._tag === 'MetaConflict' // one that changed is added up again next time
    }
    progress(Math.min(from + sessionsAtOnce, logs.length), logs.length)
  }
  return { sessions, unread }
}

/** The most sessions to read at the same time: a remote store answers slowly. */
const sessionsAtOnce = 16

/** Faults of sessions that do not hide the others. */
const passedOver: ReadonlySet<string> = new Set(['UnfinishedSession', 'NoSuchLog'])

const sessionLogs = async (store: Store): Promise<readonly LogInfo[]> => {
  const logs: LogInfo[] = []
  let after: string | undefined
  do {
    const page = orThrow(await store.list({ where: { [sessionMember]: 1 }, limit: 1000, ...present({ after }) })())
    for (const log of page.logs) logs.push(log)
    after = page.next
  } while (after !== undefined)
  return logs
}

/** How sums name a session, and what they know of it. */
export const spendingSession = (session: string, info: Pick<SessionInfo, 'metadata'>): SpendingSession => {
  const { format } = importedFrom(info)
  const folder = workFolderOf(info)
  return {
    session,
    program: typeof format === 'string' ? format : 'recorded',
    project: folder === undefined ? '' : projectIn(folder),
  }
}
