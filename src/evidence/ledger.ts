/**
 * A ledger: one log a scope whose rows say the heads of its sessions, and which of them were removed. Its own head covers
 * all of them: a session that was cut, replaced or deleted no longer matches.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from '../json/index.ts'
import { describeSession, listSessions, type SessionInfo } from '../session/index.ts'
import {
  appendToLedger,
  headOf,
  ledgerContent,
  ledgerId,
  rangeAt,
  verifyLog,
  type Because,
  type Erasure,
  type Head,
  type Hold,
  type LedgerContent,
  type LedgerEntry,
  type LedgerRow,
  type Store,
  type StoreFaultOf,
} from '../store/index.ts'
import { evidenceTask, type AnyEvidenceFault, type EvidenceTask, type LedgerMismatch } from './fault.ts'

/** What a ledger says. */
export interface Ledger {
  /** The head of the ledger itself. */
  readonly head: Head
  /** The last that it says of each session, by id. */
  readonly sessions: ReadonlyMap<string, LedgerEntry>
  /** The sessions that are held, by id: they may not be erased or removed until they are released. */
  readonly held: ReadonlyMap<string, Hold>
  /** Every erasure, in order. */
  readonly erasures: readonly Erasure[]
}

/**
 * Read what the ledger of a scope says.
 *
 * Cost    O(rows of the ledger)
 * Errors  `NoLedger`, `NotALedger`
 * @param store the store with the ledger
 * @param size only its first rows. Default: all
 * @returns the ledger; or `NoLedger`, `NotALedger`
 */
export const readLedger = (store: Store, size?: number): EvidenceTask<Ledger> =>
  evidenceTask(async () => {
    const found = await ledgerContent(store, size)
    if (isLeft(found)) return found
    const { head, sessions, held, erasures } = found.right
    if (head === undefined) return left({ _tag: 'NoLedger', scope: store.scope })
    return right(Object.freeze({ head, sessions, held, erasures }))
  })

/** What an update of a ledger did. */
export interface LedgerUpdate {
  /** The head of the ledger after it. */
  readonly head: Head
  /** How many sessions it says something new of. */
  readonly recorded: number
  /** Sessions that are not what the ledger says. Nothing new is recorded of them. */
  readonly mismatches: readonly LedgerMismatch[]
}

/**
 * Bring the ledger of a scope up to date: a row for each session whose head is not the last that the ledger says. The
 * first update makes the ledger. A session that does not continue what the ledger says is left as it is and reported.
 *
 * Cost    O(rows of the ledger + sessions); O(log rows) nodes for each session that has grown
 * Errors  `NotALedger`; store faults. Two updates at once: one of them tries again
 * @param store the store with the sessions
 * @param ids only these sessions. Default: all of the scope
 * @returns the new head, the number of new rows, and the sessions that do not match
 */
export const updateLedger = (store: Store, ids?: readonly string[]): EvidenceTask<LedgerUpdate> =>
  evidenceTask(
    () =>
      appendToLedger(store, async (ledger) => {
        const compared = await compare(store, ledger.sessions, ids)
        return isLeft(compared)
          ? compared
          : right({ rows: compared.right.news, more: { mismatches: compared.right.mismatches } })
      }),
    'updateLedger',
  )

/**
 * Remove a session and say so in the ledger, which is made if there is none. The row is written first: a process that
 * dies between the two leaves a session that `verifyLedger` names, and removing it again completes it.
 *
 * Cost    O(rows of the ledger), and the removal
 * Errors  `NoSuchLog`, `NotALedger`, `LogHeld` if the session is held; store faults
 *
 * @param store the store with the session
 * @param id the session to remove
 * @param because the reason and the person, for the ledger
 * @returns the new head of the ledger
 */
export const removeRecorded = (store: Store, id: string, because: Because = {}): EvidenceTask<Ledger['head']> =>
  evidenceTask(async () => {
    const recorded = await recordRemoval(store, id, because)
    if (isLeft(recorded)) return recorded
    const removed = await store.remove(id)()
    return isLeft(removed) ? removed : recorded
  }, 'removeRecorded')

/** The row of a removal, once: a removal that was begun has its row. */
export const recordRemoval = async (
  store: Store,
  id: string,
  because: Because,
): Promise<Either<AnyEvidenceFault, Head>> => {
  const found = await store.info(id)()
  if (isLeft(found) && found.left._tag !== 'DamagedLog') return found
  const appended = await appendToLedger(store, async ({ sessions, held }) => {
    const hold = held.get(id)
    if (hold !== undefined) return left<StoreFaultOf<'LogHeld'>>({ _tag: 'LogHeld', id, ...becauseOf(hold) })
    const entry = sessions.get(id)
    const head = isLeft(found) ? entry?.head : found.right.head // a damaged one can be removed, too
    if (head === undefined) return right({ rows: [], more: {} })
    const begun = entry?.removed === true && entry.head.root === head.root && entry.head.size === head.size
    return right({ rows: begun ? [] : [{ type: 'removed', id, head, ...because }], more: {} })
  })
  return isLeft(appended) ? appended : right(appended.right.head)
}

/** What holds of a ledger. */
export interface LedgerReport {
  /** The ledger's head. */
  readonly head: Head
  /** How many sessions are as the ledger says, or have grown since. */
  readonly good: number
  /** How many removals it says. */
  readonly removed: number
  /** The sessions that are held. */
  readonly held: readonly string[]
  /** How many rows of messages and notes it says were erased. */
  readonly erased: number
  /** Sessions that the ledger does not name yet. */
  readonly unrecorded: readonly string[]
}

/**
 * Hold the ledger against its own tree, and every session of the scope against what the ledger says.
 *
 * It reads no session's rows: `verifySession` and `indelible verify` do that.
 *
 * Cost    O(rows of the ledger + sessions × log rows)
 * Errors  `NoLedger`, `NotALedger`, `DamagedLog` of the ledger; `Diverged` if it does not continue `older`;
 *         `LedgerMismatch` with every session that was cut, replaced or deleted
 * @param store the store with the ledger
 * @param older a head of the ledger that is known from elsewhere, such as a signed checkpoint's
 * @returns the report; or `LedgerMismatch` with every session that was cut, replaced or deleted
 */
export const verifyLedger = (store: Store, older?: Head): EvidenceTask<LedgerReport> =>
  evidenceTask(async () => {
    const there = await ledgerContent(store)
    if (isLeft(there)) return there
    if (there.right.head === undefined) return left({ _tag: 'NoLedger', scope: store.scope })
    const verified = await verifyLog(store, ledgerId, older)()
    if (isLeft(verified)) return verified
    const content = await ledgerContent(store, verified.right.head.size)
    if (isLeft(content)) return content
    const { sessions, held, erasures } = content.right
    const compared = await compare(store, sessions)
    if (isLeft(compared)) return compared
    const { mismatches, news } = compared.right
    if (mismatches.length > 0) return left({ _tag: 'LedgerMismatch', mismatches })
    const removed = [...sessions.values()].filter((entry) => entry.removed).length
    return right(
      Object.freeze({
        head: verified.right.head,
        good: sessions.size - removed,
        removed,
        held: Object.freeze([...held.keys()]),
        erased: erasures.reduce((sum, { rows }) => sum + rows.length, 0),
        unrecorded: Object.freeze(news.filter(({ id }) => !isKnown(sessions.get(id))).map(({ id }) => id)),
      }),
    )
  })

const isKnown = (entry: LedgerEntry | undefined): boolean => entry !== undefined && !entry.removed

/** The head that a log had when it was `size` rows long. Cost: O(log size). */
export const headAt = async (store: Store, id: string, size: number): Promise<Either<AnyEvidenceFault, Head>> => {
  const range = await rangeAt(store, id, size)()
  return isLeft(range) ? range : right(headOf(range.right, store.hash))
}

const becauseOf = ({ reason, by }: Because): Because => ({
  ...(reason !== undefined && { reason }),
  ...(by !== undefined && { by }),
})

type Entries = LedgerContent['sessions']

interface Compared {
  /** Rows that the ledger lacks. */
  readonly news: readonly LedgerRow[]
  readonly mismatches: readonly LedgerMismatch[]
}

/** Hold sessions against what the ledger says of them. */
const compare = async (
  store: Store,
  ledger: Entries,
  ids?: readonly string[],
): Promise<Either<AnyEvidenceFault, Compared>> => {
  const sessions = ids === undefined ? await allSessions(store) : await theseSessions(store, ids)
  if (isLeft(sessions)) return sessions
  const news: LedgerRow[] = []
  const mismatches: LedgerMismatch[] = []
  for (const { id, head } of sessions.right.values()) {
    const entry = ledger.get(id)
    const what = entry === undefined ? undefined : await difference(store, entry, head)
    if (what !== undefined && isLeft(what)) return what
    if (what?.right !== undefined) mismatches.push({ id, what: what.right, expected: entry?.head as Head, found: head })
    else if (entry === undefined || entry.removed || entry.head.size !== head.size)
      news.push({ type: 'head', id, head })
  }
  for (const { id, head, removed } of ledger.values())
    if (!removed && !sessions.right.has(id) && (ids === undefined || ids.includes(id)))
      mismatches.push({ id, what: 'missing', expected: head })
  return right({ news: news.toReversed(), mismatches: Object.freeze(mismatches) })
}

/** How a session that is there differs from its entry; undefined: it is the same, or continues it. */
const difference = async (
  store: Store,
  { id, head: said, removed }: LedgerEntry,
  head: Head,
): Promise<Either<AnyEvidenceFault, LedgerMismatch['what'] | undefined>> => {
  if (removed) return right(head.size === said.size && head.root === said.root ? 'present' : undefined) // else made anew
  if (head.size < said.size) return right('cut')
  const then = head.size === said.size ? right(head) : await headAt(store, id, said.size)
  return isLeft(then) ? then : right(then.right.root === said.root ? undefined : 'replaced')
}

type Sessions = ReadonlyMap<string, Pick<SessionInfo, 'id' | 'head'>>

const allSessions = async (store: Store): Promise<Either<AnyEvidenceFault, Sessions>> => {
  const sessions = new Map<string, SessionInfo>()
  for (let after: string | undefined; ;) {
    const page = await listSessions(store, { limit: 1000, ...(after !== undefined && { after }) })()
    if (isLeft(page)) return page
    for (const session of page.right.sessions) sessions.set(session.id, session)
    after = page.right.next
    if (after === undefined) return right(sessions)
  }
}

const theseSessions = async (store: Store, ids: readonly string[]): Promise<Either<AnyEvidenceFault, Sessions>> => {
  const sessions = new Map<string, SessionInfo>()
  for (const id of ids) {
    const info = await describeSession(store, id)()
    if (!isLeft(info)) sessions.set(id, info.right)
    else if (info.left._tag !== 'NoSuchLog') return info
  }
  return right(sessions)
}
