/**
 * A ledger: one log for each scope that records the heads and removals of its sessions. Its own
 * head covers all of them: a session that was cut, replaced or deleted no longer matches.
 */
import type { Task } from 'indelible'
import * as E from '#fp-ts/Either'
import { pipe } from '#fp-ts/function'
import { checkStore } from 'indelible/internal/session'
import type { Either } from 'fp-ts/lib/Either.js'
import { checkArgument, isObject, isLeft, left, optionsOf, right } from 'indelible/internal/json'
import { describeSession, listSessions, verifySession, type SessionInfo } from 'indelible/session'
import { verifyLog, type Head, type Store, type StoreFaultOf } from 'indelible/store'
import {
  ownIdFault,
  appendToLedger,
  actionReasonOf,
  headOf,
  ledgerContent,
  ledgerId,
  rangeAt,
  type LedgerContent,
  type LedgerRow,
  reasonNames,
  type ActionReason,
  type Erasure,
  type Hold,
  type KeyDestroyed,
  type LedgerEntry,
} from 'indelible/internal/store'
import { fail, need, pagesOf, untilFault, type Steps } from 'indelible/internal/task'
import { evidenceSteps, evidenceTask, type AnyEvidenceFault, type LedgerMismatch } from './fault.ts'

/** The content of a ledger. */
export interface Ledger {
  /** The head of the ledger itself. */
  readonly head: Head
  /** The last entry of each session, by id. */
  readonly sessions: ReadonlyMap<string, LedgerEntry>
  /** The sessions on hold, by id: they can't be erased or removed until they are released. */
  readonly held: ReadonlyMap<string, Hold>
  /** The destroyed keys of sessions, by key id. */
  readonly destroyed: ReadonlyMap<string, KeyDestroyed>
  /** Every erasure, in order. */
  readonly erasures: readonly Erasure[]
}

/**
 * Read the ledger of a scope.
 *
 * Cost    O(rows of the ledger)
 * Errors  `NoLedger`, `NotALedger`
 * @param size the number of rows to read, from the first. Default: all
 */
export const readLedger = (store: Store, size?: number): Task<AnyEvidenceFault, Ledger> => {
  checkStore('readLedger', store)
  checkArgument('readLedger', size === undefined || typeof size === 'number', 'a number of rows', size)
  return evidenceSteps(async function* () {
    const { head, sessions, held, destroyed, erasures } = yield* need(ledgerContent(store, size))
    if (head === undefined) return yield* fail({ _tag: 'NoLedger', scope: store.scope })
    // Copies for the caller: the cached maps must not change.
    return Object.freeze({
      head,
      sessions: new Map(sessions),
      held: new Map(held),
      destroyed: new Map(destroyed),
      erasures,
    })
  }, 'readLedger')
}

/** The result of updating a ledger. */
export interface LedgerUpdate {
  /** The head of the ledger after the update. */
  readonly head: Head
  /** The number of sessions with a new row. */
  readonly recorded: number
  /** Sessions that do not match the ledger. No row was added for them. */
  readonly mismatches: readonly LedgerMismatch[]
}

/**
 * Bring the ledger of a scope up to date: add a row for each session whose head differs from its
 * last one in the ledger. The first update creates the ledger. A session that does not continue its
 * head in the ledger is reported, and gets no row.
 *
 * Cost    O(unread rows of the ledger + sessions); O(log rows) nodes for each session that has grown. If nothing else
 *         has written to the ledger since the last update by this handle, only digests of the sessions are computed,
 *         and only sessions created near a changed one are listed. With `sessions`, only those are looked up
 * Errors  `NotALedger`; store faults. Of two concurrent updates, one retries
 * @param sessions only these sessions. Default: all of the scope
 * @returns the new head, the number of new rows, and the sessions that do not match
 */
export const updateLedger = (store: Store, sessions?: readonly string[]): Task<AnyEvidenceFault, LedgerUpdate> => {
  checkStore('updateLedger', store)
  checkArgument('updateLedger', sessions === undefined || Array.isArray(sessions), 'a list of ids', sessions)
  const ids = sessions && [...sessions]
  return evidenceTask(async () => {
    let pieces: readonly KnownPiece[] | undefined
    const updated = await appendToLedger(store, ({ head, sessions: recorded }) =>
      untilFault(async function* () {
        const before = knownPieces.get(store)
        const known = before?.head.root === head?.root ? before?.pieces : undefined
        const found = yield* ids === undefined
          ? sessionsOf(store, recorded, known)
          : sessionsNamed(store, recorded, ids)
        pieces = ids === undefined ? found.pieces : known
        const { news: rows, mismatches } = yield* compare(store, recorded, found)
        return { rows, more: { mismatches: Object.freeze(yield* withoutRemovals(store, mismatches)) } }
      }),
    )
    if (isLeft(updated) || updated.right.mismatches.length > 0 || pieces === undefined) knownPieces.delete(store)
    else knownPieces.set(store, { head: updated.right.head, pieces })
    return updated
  }, 'updateLedger')
}

/** A piece of the store's sessions. */
interface KnownPiece {
  readonly name: string
  readonly digest: string
  readonly ids: readonly string[]
}

/** The pieces that the ledger covers, valid while the ledger has this head and each piece its digest. */
const knownPieces = new WeakMap<Store, { readonly head: Head; readonly pieces: readonly KnownPiece[] }>()

/**
 * Remove a session and record it in the ledger, which is created if missing. The row is written first: if the
 * process dies between the two, `verifyLedger` reports the session, and removing it again completes the removal.
 *
 * Cost    O(rows of the ledger), and the removal
 * Errors  `NoSuchLog`, `NotALedger`, `LogHeld` if the session is held; store faults
 *
 * @param reason the reason and the person, recorded in the ledger; and digests by which your program recognizes the session's files
 * @returns the new head of the ledger
 */
export const removeRecorded = (
  store: Store,
  id: string,
  reason: ActionReason & { readonly digests?: readonly string[] } = {},
): Task<AnyEvidenceFault, Ledger['head']> => {
  checkStore('removeRecorded', store)
  const because = optionsOf('removeRecorded', reason, { ...reasonNames, digests: true })
  return evidenceSteps(async function* () {
    const recorded = yield* need(recordRemoval(store, id, because))
    yield* need(store.remove(id))
    return recorded
  }, 'removeRecorded')
}

/** Writes the row of a removal, unless it was written when an earlier removal began. */
export const recordRemoval = async (
  store: Store,
  id: string,
  because: ActionReason & { readonly digests?: readonly string[] },
): Promise<Either<AnyEvidenceFault, Head>> => {
  const problem = ownIdFault(id)
  if (problem !== undefined) return left(problem)
  const found = await store.info(id)()
  if (isLeft(found) && found.left._tag !== 'DamagedLog') return found
  const appended = await appendToLedger(store, async ({ sessions, held }) => {
    const hold = held.get(id)
    if (hold !== undefined) return left<StoreFaultOf<'LogHeld'>>({ _tag: 'LogHeld', id, ...actionReasonOf(hold) })
    const entry = sessions.get(id)
    const head = isLeft(found) ? entry?.head : found.right.head // a damaged session can be removed, too
    if (head === undefined) return right({ rows: [], more: {} })
    const begun = entry?.removed === true && entry.head.root === head.root && entry.head.size === head.size
    return right({ rows: begun ? [] : [{ type: 'removed', id, head, ...because }], more: {} })
  })
  return pipe(
    appended,
    E.map(({ head }) => head),
  )
}

/** The options of `verifyLedger`. */
interface VerifyLedgerOptions {
  /**
   * Whether to compare only the heads that sessions report, without reading rows. This finds
   * sessions that were cut, replaced or deleted, but no altered rows below a head. Default: false.
   */
  readonly headsOnly?: boolean
  /**
   * Called while rows are read.
   *
   * @param rows the number of rows read so far, of all sessions
   */
  readonly progress?: (rows: number) => void
}

/** The result of verifying a ledger. */
export interface LedgerReport {
  /** The ledger's head. */
  readonly head: Head
  /** True if only heads were compared and no session rows were read. */
  readonly headsOnly: boolean
  /** The number of sessions that match the ledger, or have grown since. */
  readonly good: number
  /** The number of recorded removals. */
  readonly removed: number
  /** The sessions on hold. */
  readonly held: readonly string[]
  /** The number of recorded erasures of messages and notes. */
  readonly erased: number
  /** Sessions that the ledger does not list yet. */
  readonly unrecorded: readonly string[]
}

/**
 * Verify the ledger against its own tree, and every session of the scope against the ledger: its rows
 * and blocks, as `verifySession` does, and that they continue the head in the ledger. Encrypted
 * sessions are verified as stored, without keys. Sessions that the ledger does not list are not read.
 *
 * Cost    O(rows of the ledger + rows of sessions + bytes of blocks), in pieces; with `headsOnly`,
 *         O(rows of the ledger + sessions × log rows)
 * Errors  `NoLedger`, `NotALedger`, `DamagedLog` of the ledger; `Diverged` if it does not continue `earlier`;
 *         `LedgerMismatch` with every session that was altered, cut, replaced or deleted; `CallbackThrew`
 * @param earlier a head of the ledger from elsewhere, such as a signed checkpoint. Default: none
 * @param options whether to compare heads only, and a progress callback
 * @throws TypeError if an option is unknown
 */
export const verifyLedger = (
  store: Store,
  earlier?: Head,
  options: VerifyLedgerOptions = {},
): Task<AnyEvidenceFault, LedgerReport> => {
  const { headsOnly = false, progress } = optionsOf('verifyLedger', options, { headsOnly: true, progress: true })
  checkStore('verifyLedger', store)
  checkArgument('verifyLedger', earlier === undefined || isObject(earlier), 'a head of the ledger', earlier)
  const older = earlier && { ...earlier }
  return evidenceSteps(async function* () {
    const there = yield* need(ledgerContent(store))
    if (there.head === undefined) return yield* fail({ _tag: 'NoLedger', scope: store.scope })
    const { head } = yield* need(verifyLog(store, ledgerId, older))
    const { sessions, held, erasures } = yield* need(ledgerContent(store, head.size))
    const compared = yield* compare(store, sessions, yield* sessionsOf(store, sessions))
    const mismatches = [...(yield* withoutRemovals(store, compared.mismatches))]
    const different = new Set(mismatches.map(({ id }) => id))
    let before = 0
    for (const entry of headsOnly ? [] : sessions.values()) {
      if (entry.removed || different.has(entry.id)) continue
      let read = 0
      const found = yield* alterationOf(store, entry, (rows) => {
        read = rows
        progress?.(before + rows)
      })
      before += read
      if (found !== undefined) mismatches.push(found)
    }
    if (mismatches.length > 0) return yield* fail({ _tag: 'LedgerMismatch', mismatches: Object.freeze(mismatches) })
    const removed = [...sessions.values()].filter((entry) => entry.removed).length
    return Object.freeze({
      head,
      headsOnly,
      good: sessions.size - removed,
      removed,
      held: Object.freeze([...held.keys()]),
      erased: erasures.reduce((sum, { rows }) => sum + rows.length, 0),
      unrecorded: Object.freeze(compared.news.filter(({ id }) => !isKnown(sessions.get(id))).map(({ id }) => id)),
    })
  }, 'verifyLedger')
}

/** How often to check whether a removal in progress completes, and the milliseconds between checks. */
const [looks, pause] = [20, 25]

/** The mismatches without those of removals in progress: the ledger is written first, then the session is removed. */
async function* withoutRemovals(
  store: Store,
  mismatches: readonly LedgerMismatch[],
): Steps<AnyEvidenceFault, readonly LedgerMismatch[]> {
  if (!mismatches.some(({ what }) => what === 'missing' || what === 'present')) return mismatches
  const now = yield* need(ledgerContent(store))
  let rest = mismatches.filter(({ id, what }) => what !== 'missing' || now.sessions.get(id)?.removed !== true)
  for (let look = 0; look < looks && rest.some(({ what }) => what === 'present'); look++) {
    if (look > 0) await new Promise((resolve) => setTimeout(resolve, pause))
    const present = rest.flatMap(({ id, what }) => (what === 'present' ? [id] : []))
    const { there } = yield* sessionsNamed(store, now.sessions, present)
    rest = rest.filter(({ id, what }) => what !== 'present' || there.has(id))
  }
  return rest
}

/** How a session's rows differ from its head in the ledger; undefined if they match or it was just removed. */
async function* alterationOf(
  store: Store,
  { id, head }: LedgerEntry,
  progress: (rows: number) => void,
): Steps<AnyEvidenceFault, LedgerMismatch | undefined> {
  const verified = await verifySession(store.encryption?.bare ?? store, id, { head, progress })()
  if (!isLeft(verified)) return undefined
  const fault = verified.left
  if (fault._tag === 'Diverged') return Object.freeze({ id, what: 'replaced', expected: head, found: fault.actual })
  if (fault._tag === 'NoSuchLog') {
    const now = yield* need(ledgerContent(store))
    return now.sessions.get(id)?.removed === true ? undefined : missing(id, head)
  }
  return isDamageOf(id, fault) ? alteration(fault, head) : yield* fail(fault)
}

const isDamageOf = (id: string, fault: AnyEvidenceFault): fault is StoreFaultOf<'DamagedLog'> =>
  fault._tag === 'DamagedLog' && fault.id === id

const alteration = ({ id, position, reason }: StoreFaultOf<'DamagedLog'>, expected: Head): LedgerMismatch =>
  Object.freeze({ id, what: 'altered', expected, position, reason })

const missing = (id: string, expected: Head): LedgerMismatch => Object.freeze({ id, what: 'missing', expected })

const isKnown = (entry: LedgerEntry | undefined): boolean => entry !== undefined && !entry.removed

/** The head of a log when it had `size` rows. Cost: O(log size). */
export const headAt = async (store: Store, id: string, size: number): Promise<Either<AnyEvidenceFault, Head>> =>
  pipe(
    await rangeAt(store, id, size)(),
    E.map((range) => headOf(range, store.hash)),
  )

type Entries = LedgerContent['sessions']

interface LedgerComparison {
  /** Rows missing from the ledger. */
  readonly news: readonly LedgerRow[]
  readonly mismatches: readonly LedgerMismatch[]
}

async function* compare(
  store: Store,
  ledger: Entries,
  { there, absent }: FoundSessions,
): Steps<AnyEvidenceFault, LedgerComparison> {
  const news: LedgerRow[] = []
  const mismatches: LedgerMismatch[] = []
  for (const { id, head } of there.values()) {
    const entry = ledger.get(id)
    const found = entry === undefined ? right(undefined) : await difference(store, entry, head)
    if (entry !== undefined && isLeft(found) && isDamageOf(id, found.left)) {
      mismatches.push(alteration(found.left, entry.head))
      continue
    }
    const what = yield* need(found)
    if (entry !== undefined && what !== undefined)
      mismatches.push(Object.freeze({ id, what, expected: entry.head, found: head }))
    else if (entry === undefined || entry.removed || entry.head.size !== head.size)
      news.push({ type: 'head', id, head })
  }
  for (const { id, head } of absent) {
    const info = await describeSession(store, id)() // a list skips sessions whose description can't be read
    if (!isLeft(info)) continue // not listed because its piece is unchanged, or created in the meantime
    if (info.left._tag === 'Io' || info.left._tag === 'Busy') return yield* fail(info.left)
    const damage = isDamageOf(id, info.left) ? info.left : undefined
    mismatches.push(damage === undefined ? missing(id, head) : alteration(damage, head))
  }
  return { news: news.toReversed(), mismatches: Object.freeze(mismatches) }
}

/** How an existing session differs from its entry; undefined if it is equal or continues it. */
const difference = async (
  store: Store,
  { id, head: recorded, removed }: LedgerEntry,
  head: Head,
): Promise<Either<AnyEvidenceFault, LedgerMismatch['what'] | undefined>> => {
  if (removed) return right(head.size === recorded.size && head.root === recorded.root ? 'present' : undefined) // else recreated
  if (head.size < recorded.size) return right('cut')
  const then = head.size === recorded.size ? right(head) : await headAt(store, id, recorded.size)
  return isLeft(then) ? then : right(then.right.root === recorded.root ? undefined : 'replaced')
}

interface FoundSessions {
  /** The existing ones, last created first. */
  readonly there: ReadonlyMap<string, Pick<SessionInfo, 'id' | 'head'>>
  /** The ledger entries of those that are missing without a recorded removal. */
  readonly absent: readonly LedgerEntry[]
  /** All sessions of the store, if it has digests of its pieces. */
  readonly pieces?: readonly KnownPiece[]
}

const isAbsent = (entry: LedgerEntry | undefined, there: FoundSessions['there']): entry is LedgerEntry =>
  entry !== undefined && !entry.removed && !there.has(entry.id)

/** The sessions of a store; only those in pieces that have changed. */
async function* sessionsOf(
  store: Store,
  ledger: Entries,
  known?: readonly KnownPiece[],
): Steps<AnyEvidenceFault, FoundSessions> {
  const there = new Map<string, SessionInfo>()
  const stored = store.pieces === undefined ? undefined : yield* need(store.pieces())
  if (stored === undefined) {
    for await (const page of pagesOf((from) => listSessions(store, { limit: 1000, ...from })()))
      for (const session of (yield* need(page)).sessions) there.set(session.id, session)
    return { there, absent: [...ledger.values()].filter((entry) => isAbsent(entry, there)) }
  }
  const before = new Map(known?.map((piece) => [piece.name, piece]))
  const pieces: KnownPiece[] = []
  for (const { name, digest, after, logs } of stored.toReversed()) {
    const same = before.get(name)
    if (same?.digest === digest) {
      pieces.push(same)
      before.delete(name)
      continue
    }
    const { sessions } = yield* need(listSessions(store, { after, limit: logs }))
    for (const session of sessions) there.set(session.id, session)
    pieces.push({ name, digest, ids: sessions.map(({ id }) => id) })
  }
  // Sessions gone from the changed pieces; if no pieces were known, from the whole ledger.
  const gone =
    known === undefined ? ledger.values() : [...before.values()].flatMap(({ ids }) => ids.map((id) => ledger.get(id)))
  return { there, absent: [...gone].filter((entry) => isAbsent(entry, there)), pieces }
}

async function* sessionsNamed(
  store: Store,
  ledger: Entries,
  ids: readonly string[],
): Steps<AnyEvidenceFault, FoundSessions> {
  const there = new Map<string, SessionInfo>()
  for (const id of ids) {
    const info = await describeSession(store, id)()
    if (!isLeft(info)) there.set(id, info.right)
    else if (info.left._tag !== 'NoSuchLog') return yield* fail(info.left)
  }
  const entries = [...new Set(ids)].map((id) => ledger.get(id))
  return { there, absent: entries.filter((entry) => isAbsent(entry, there)) }
}
