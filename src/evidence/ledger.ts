/**
 * A ledger: one log a scope whose rows say the heads of its sessions, and which of them were removed. Its own head covers
 * all of them: a session that was cut, replaced or deleted no longer matches.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from '../json/index.ts'
import { describeSession, listSessions, type SessionInfo } from '../session/index.ts'
import { headOf, rangeAt, verifyLog, type Head, type Store } from '../store/index.ts'
import { evidenceTask, type AnyEvidenceFault, type EvidenceTask, type LedgerMismatch } from './fault.ts'
import { ledgerId, ledgerRow, readLedgerRow, type LedgerEntry, type LedgerRow } from './ledger-row.ts'

/** What a ledger says. */
export interface Ledger {
  /** The head of the ledger itself. */
  readonly head: Head
  /** The last that it says of each session, by id. */
  readonly sessions: ReadonlyMap<string, LedgerEntry>
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
    const found = await ledgerOf(store)
    if (isLeft(found)) return found
    if (found.right === undefined) return left({ _tag: 'NoLedger', scope: store.scope })
    const head = size === undefined ? right(found.right) : await headAt(store, ledgerId, size)
    if (isLeft(head)) return head
    const sessions = await entriesOf(store, head.right.size)
    return isLeft(sessions) ? sessions : right(Object.freeze({ head: head.right, sessions: sessions.right }))
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
        const compared = await compare(store, ledger, ids)
        return isLeft(compared)
          ? compared
          : right({ rows: compared.right.news, more: { mismatches: compared.right.mismatches } })
      }),
    'updateLedger',
  )

/** Why and by whom something was done. */
export interface Because {
  /** Why, for the ledger. */
  readonly reason?: string
  /** Who, for the ledger. */
  readonly by?: string
}

/**
 * Remove a session and say so in the ledger, which is made if there is none. The row is written first: a process that
 * dies between the two leaves a session that `verifyLedger` names, and removing it again completes it.
 *
 * Cost    O(rows of the ledger), and the removal
 * Errors  `NoSuchLog`, `NotALedger`; store faults
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
  const appended = await appendToLedger(store, async (ledger) => {
    const entry = ledger.get(id)
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
    const there = await ledgerOf(store)
    if (isLeft(there)) return there
    if (there.right === undefined) return left({ _tag: 'NoLedger', scope: store.scope })
    const verified = await verifyLog(store, ledgerId, older)()
    if (isLeft(verified)) return verified
    const entries = await entriesOf(store, verified.right.head.size)
    if (isLeft(entries)) return entries
    const compared = await compare(store, entries.right)
    if (isLeft(compared)) return compared
    const { mismatches, news } = compared.right
    if (mismatches.length > 0) return left({ _tag: 'LedgerMismatch', mismatches })
    const removed = [...entries.right.values()].filter((entry) => entry.removed).length
    return right(
      Object.freeze({
        head: verified.right.head,
        good: entries.right.size - removed,
        removed,
        unrecorded: Object.freeze(news.filter(({ id }) => !isKnown(entries.right.get(id))).map(({ id }) => id)),
      }),
    )
  })

const isKnown = (entry: LedgerEntry | undefined): boolean => entry !== undefined && !entry.removed

/** The head that a log had when it was `size` rows long. Cost: O(log size). */
export const headAt = async (store: Store, id: string, size: number): Promise<Either<AnyEvidenceFault, Head>> => {
  const range = await rangeAt(store, id, size)()
  return isLeft(range) ? range : right(headOf(range.right, store.hash))
}

/** The head of the scope's ledger; undefined if there is none. */
const ledgerOf = async (store: Store): Promise<Either<AnyEvidenceFault, Head | undefined>> => {
  const found = await store.info(ledgerId)()
  if (isLeft(found)) return found.left._tag === 'NoSuchLog' ? right(undefined) : found
  return Object.hasOwn(found.right.meta, ledgerId)
    ? right(found.right.head)
    : left({ _tag: 'NotALedger', id: ledgerId, reason: 'it was made by something else' })
}

type Entries = ReadonlyMap<string, LedgerEntry>

/** What was read of a ledger, by store: rows that are there stay, so only new ones are read. */
const known = new WeakMap<Store, { readonly head: Head; readonly entries: Entries }>()

const entriesOf = async (store: Store, size: number): Promise<Either<AnyEvidenceFault, Entries>> => {
  if (size === 0) return right(new Map())
  const head = await headAt(store, ledgerId, size)
  if (isLeft(head)) return head
  const before = known.get(store)
  const then =
    before === undefined || before.head.size > size ? undefined : await headAt(store, ledgerId, before.head.size)
  if (then !== undefined && isLeft(then)) return then
  const continues = before !== undefined && then?.right.root === before.head.root // else it is another ledger by now
  const entries = new Map<string, LedgerEntry>(continues ? before.entries : [])
  for (let from = continues ? before.head.size : 0; from < size; from += 1000) {
    const rows = await store.read(ledgerId, { from, to: Math.min(from + 1000, size) })()
    if (isLeft(rows)) return rows
    for (const row of rows.right) {
      const said = readLedgerRow(row)
      if (isLeft(said)) return said
      if (said.right === undefined) continue
      const { type, ...rest } = said.right
      entries.set(rest.id, Object.freeze({ ...rest, row: row.position, at: row.at, removed: type === 'removed' }))
    }
  }
  known.set(store, { head: head.right, entries })
  return right(entries)
}

/** How often an append to the ledger is tried where others append at the same time. */
const attempts = 20

/** Appends what `news` says of the ledger as it is. Another's append in between: once more. */
const appendToLedger = async <M extends object>(
  store: Store,
  news: (
    ledger: Entries,
  ) => Promise<Either<AnyEvidenceFault, { readonly rows: readonly LedgerRow[]; readonly more: M }>>,
): Promise<Either<AnyEvidenceFault, { readonly head: Head; readonly recorded: number } & M>> => {
  for (let attempt = 1; ; attempt++) {
    const found = await ledgerOf(store)
    if (isLeft(found)) return found
    const ledger = await entriesOf(store, found.right?.size ?? 0)
    if (isLeft(ledger)) return ledger
    const said = await news(ledger.right)
    if (isLeft(said)) return said
    const { rows, more } = said.right
    const recorded = rows.length
    const stored = rows.map((row) => ledgerRow(row, store.now()))
    if (found.right === undefined) {
      const created = await store.create({ id: ledgerId, meta: { [ledgerId]: 1 }, rows: stored })()
      if (!isLeft(created)) return right({ head: created.right.head, recorded, ...more })
      if (created.left._tag !== 'LogExists' || attempt === attempts) return created
    } else {
      if (recorded === 0) return right({ head: found.right, recorded, ...more })
      const appended = await store.append(ledgerId, { expected: found.right, rows: stored })()
      if (!isLeft(appended)) return right({ head: appended.right.head, recorded, ...more })
      if (appended.left._tag !== 'Conflict' || attempt === attempts) return appended
    }
  }
}

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
