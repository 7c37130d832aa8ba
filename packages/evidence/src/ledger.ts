/**
 * A ledger: one log a scope whose rows say the heads of its sessions, and which of them were removed. Its own head covers
 * all of them: a session that was cut, replaced or deleted no longer matches.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { mapRight, isLeft, left, optionsOf, right } from 'indelible/json/kit'
import { describeSession, listSessions, verifySession, type SessionInfo } from 'indelible/session'
import {
  verifyLog,
  type Because,
  type Erasure,
  type Head,
  type Hold,
  type KeyDestroyed,
  type LedgerEntry,
  type Store,
  type StoreFaultOf,
} from 'indelible/store'
import {
  againstOwnId,
  appendToLedger,
  becauseOf,
  headOf,
  ledgerContent,
  ledgerId,
  rangeAt,
  type LedgerContent,
  type LedgerRow,
} from 'indelible/store/kit'
import { fail, need, pagesOf, untilFault, type Steps } from 'indelible/task/kit'
import { evidenceSteps, evidenceTask, type AnyEvidenceFault, type EvidenceTask, type LedgerMismatch } from './fault.ts'

/** The content of a ledger. */
export interface Ledger {
  /** The head of the ledger itself. */
  readonly head: Head
  /** The last that it says of each session, by id. */
  readonly sessions: ReadonlyMap<string, LedgerEntry>
  /** The sessions that are held, by id: they may not be erased or removed until they are released. */
  readonly held: ReadonlyMap<string, Hold>
  /** The keys of sessions that were destroyed, by the ids of the keys. */
  readonly destroyed: ReadonlyMap<string, KeyDestroyed>
  /** Every erasure, in order. */
  readonly erasures: readonly Erasure[]
}

/**
 * Read what the ledger of a scope says.
 *
 * Cost    O(rows of the ledger)
 * Errors  `NoLedger`, `NotALedger`
 * @param size only its first rows. Default: all
 */
export const readLedger = (store: Store, size?: number): EvidenceTask<Ledger> =>
  evidenceSteps(async function* () {
    const { head, sessions, held, destroyed, erasures } = yield* need(ledgerContent(store, size))
    if (head === undefined) return yield* fail({ _tag: 'NoLedger', scope: store.scope })
    // Maps of the caller's own: those that were read stay as they are.
    return Object.freeze({
      head,
      sessions: new Map(sessions),
      held: new Map(held),
      destroyed: new Map(destroyed),
      erasures,
    })
  }, 'readLedger')

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
 * Cost    O(rows of the ledger that were not read yet + sessions); O(log rows) nodes for each session that has grown. If
 *         nothing else has written to the ledger since the last update by this handle, only digests of the sessions are
 *         computed, and sessions that were created near a changed one are listed. With `sessions`, only those are looked up
 * Errors  `NotALedger`; store faults. Two updates at once: one of them tries again
 * @param sessions only these sessions. Default: all of the scope
 * @returns the new head, the number of new rows, and the sessions that do not match
 */
export const updateLedger = (store: Store, sessions?: readonly string[]): EvidenceTask<LedgerUpdate> => {
  const ids = sessions && [...sessions]
  return evidenceTask(async () => {
    let pieces: readonly KnownPiece[] | undefined
    const updated = await appendToLedger(store, ({ head, sessions: said }) =>
      untilFault(async function* () {
        const before = knownPieces.get(store)
        const known = before?.head.root === head?.root ? before?.pieces : undefined
        const found = yield* ids === undefined ? sessionsOf(store, said, known) : theseSessions(store, said, ids)
        pieces = ids === undefined ? found.pieces : known
        const { news: rows, mismatches } = yield* compare(store, said, found)
        return { rows, more: { mismatches } }
      }),
    )
    if (isLeft(updated) || updated.right.mismatches.length > 0 || pieces === undefined) knownPieces.delete(store)
    else knownPieces.set(store, { head: updated.right.head, pieces })
    return updated
  }, 'updateLedger')
}

/** Sessions of a store, in a piece of its logs. */
interface KnownPiece {
  readonly name: string
  readonly digest: string
  readonly ids: readonly string[]
}

/** The sessions that a ledger is known to say the heads of, as long as it has this head and their pieces these digests. */
const knownPieces = new WeakMap<Store, { readonly head: Head; readonly pieces: readonly KnownPiece[] }>()

/**
 * Remove a session and say so in the ledger, which is made if there is none. The row is written first: a process that
 * dies between the two leaves a session that `verifyLedger` names, and removing it again completes it.
 *
 * Cost    O(rows of the ledger), and the removal
 * Errors  `NoSuchLog`, `NotALedger`, `LogHeld` if the session is held; store faults
 *
 * @param reason the reason and the person, for the ledger
 * @returns the new head of the ledger
 */
export const removeRecorded = (store: Store, id: string, reason: Because = {}): EvidenceTask<Ledger['head']> =>
  evidenceSteps(async function* () {
    const because = { ...reason }
    const recorded = yield* need(recordRemoval(store, id, because))
    yield* need(store.remove(id))
    return recorded
  }, 'removeRecorded')

/** The row of a removal, once: a removal that was begun has its row. */
export const recordRemoval = async (
  store: Store,
  id: string,
  because: Because,
): Promise<Either<AnyEvidenceFault, Head>> => {
  const problem = againstOwnId(id)
  if (problem !== undefined) return left(problem)
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
  return mapRight(appended, ({ head }) => head)
}

/** How to verify a ledger. */
export interface VerifyLedgerOptions {
  /**
   * True: compare the heads that sessions say of themselves, and read no rows. This finds a session that was cut, replaced or
   * deleted, and no row that was altered below its head. Default: false.
   */
  readonly headsOnly?: boolean
  /**
   * Called while rows are read.
   *
   * @param rows the number of rows read so far, of all sessions
   */
  readonly progress?: (rows: number) => void
}

/** What holds of a ledger. */
export interface LedgerReport {
  /** The ledger's head. */
  readonly head: Head
  /** True if only heads were compared, and the rows of sessions were not read. */
  readonly headsOnly: boolean
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
 * Hold the ledger against its own tree, and every session of the scope against what the ledger says: its rows and blocks, as
 * `verifySession` does, and that they continue the head in the ledger. Encrypted sessions are verified as they are stored,
 * without keys. Sessions that the ledger does not name are not read.
 *
 * Cost    O(rows of the ledger + rows of sessions + bytes of blocks), in pieces; with `headsOnly`,
 *         O(rows of the ledger + sessions × log rows)
 * Errors  `NoLedger`, `NotALedger`, `DamagedLog` of the ledger; `Diverged` if it does not continue `earlier`;
 *         `LedgerMismatch` with every session that was altered, cut, replaced or deleted; `CallbackThrew`
 * @param earlier a head of the ledger that is known from elsewhere, such as a signed checkpoint's. Default: none
 * @param options whether to compare heads only, and a callback for progress
 * @throws TypeError if an option is unknown
 */
export const verifyLedger = (
  store: Store,
  earlier?: Head,
  options: VerifyLedgerOptions = {},
): EvidenceTask<LedgerReport> => {
  const { headsOnly = false, progress } = optionsOf('verifyLedger', options, known)
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
      const found = yield* altered(store, entry, (rows) => {
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

/** How often it is looked whether a session goes whose removal the ledger has, and the milliseconds between. */
const [looks, pause] = [20, 25]

/** The mismatches that are not made by removals which go on meanwhile: the ledger is told first, then the session goes. */
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
    const { there } = yield* theseSessions(store, now.sessions, present)
    rest = rest.filter(({ id, what }) => what !== 'present' || there.has(id))
  }
  return rest
}

/** How the rows of a session differ from its head in the ledger; undefined: they don't, or it was removed meanwhile. */
async function* altered(
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

/** The head that a log had when it was `size` rows long. Cost: O(log size). */
export const headAt = async (store: Store, id: string, size: number): Promise<Either<AnyEvidenceFault, Head>> =>
  mapRight(await rangeAt(store, id, size)(), (range) => headOf(range, store.hash))

type Entries = LedgerContent['sessions']

interface LedgerComparison {
  /** Rows that the ledger lacks. */
  readonly news: readonly LedgerRow[]
  readonly mismatches: readonly LedgerMismatch[]
}

/** Hold sessions against what the ledger says of them. */
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
    const info = await describeSession(store, id)() // a list passes over a session whose description can't be read
    if (!isLeft(info)) continue // it was not listed because its piece has not changed, or it came meanwhile
    if (info.left._tag === 'Io' || info.left._tag === 'Busy') return yield* fail(info.left)
    const damage = isDamageOf(id, info.left) ? info.left : undefined
    mismatches.push(damage === undefined ? missing(id, head) : alteration(damage, head))
  }
  return { news: news.toReversed(), mismatches: Object.freeze(mismatches) }
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

/** Sessions to compare. */
interface FoundSessions {
  /** Those that are there, the last created first. */
  readonly there: ReadonlyMap<string, Pick<SessionInfo, 'id' | 'head'>>
  /** What the ledger says of those that are not, and were not removed. */
  readonly absent: readonly LedgerEntry[]
  /** All sessions of the store, where it has digests of them. */
  readonly pieces?: readonly KnownPiece[]
}

const isAbsent = (entry: LedgerEntry | undefined, there: FoundSessions['there']): entry is LedgerEntry =>
  entry !== undefined && !entry.removed && !there.has(entry.id)

/** The sessions of a store; only those of pieces that are not as they are known. */
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
  // Of pieces that have changed, what is not there any more; without any known, all of the ledger.
  const gone =
    known === undefined ? ledger.values() : [...before.values()].flatMap(({ ids }) => ids.map((id) => ledger.get(id)))
  return { there, absent: [...gone].filter((entry) => isAbsent(entry, there)), pieces }
}

async function* theseSessions(
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

const known = { headsOnly: true, progress: true } as const
