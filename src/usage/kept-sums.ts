/**
 * Keeps the sums of a session's calls in its log's metadata, so that those of many sessions are read as fast as a list of them.
 * They are derived. Sums of another head, with other erased rows, other limits in the price table, or of another version are
 * computed anew.
 */
import { isLeft, isObject, ownField, type JsonObject } from '../json/index.ts'
import type { ReadSessionFault, SessionInfo } from '../session/index.ts'
import { checkStore, sessionInfo, sessionSteps } from '../session/internal.ts'
import type { LogInfo, Store } from '../store/index.ts'
import {
  encryptionOf,
  ledgerContent,
  ownKeyOf,
  ownStore,
  sumsMember,
  withoutKeys,
  type UpdateFault,
} from '../store/internal.ts'
import { fail, need, type Steps, type Task } from '../task/index.ts'
import { explainCalls } from './explain.ts'
import { callsIn } from './session-calls.ts'
import { fitsPrices, packSums, sessionSums, sumsVersion, unpackSums, type SessionSums } from './session-sums.ts'

/** A session, and the sums of its calls. */
export interface SummedSession {
  readonly info: SessionInfo
  readonly sums: SessionSums
  /** Whether they were in the store. */
  readonly wereKept: boolean
}

/** Reads, computes and keeps the sums of the sessions of one scope. The erasures of the scope are read once. */
export class SumsReader {
  readonly #store: Store
  #erased: ErasedRows | 'unreadable' | undefined

  constructor(store: Store) {
    checkStore('SumsReader', store)
    this.#store = store
  }

  /**
   * The sums of a session. Computed ones are not stored: `keep` does that.
   *
   * Cost    none if they were kept; one read if the scope has erasures; otherwise O(calls), and one read for the notes
   *
   * @param log the session's log
   * @returns the session with its sums; or the fault of reading its notes, such as `NoKey`
   */
  sumsOf(log: LogInfo): Task<ReadSessionFault, SummedSession> {
    return sessionSteps(() => this.#sumsOf(log), 'sumsOf')
  }

  async *#sumsOf(log: LogInfo): Steps<ReadSessionFault, SummedSession> {
    const info = yield* need(sessionInfo(log))
    const { id, head, len } = info
    if (encryptionOf(log) !== undefined) return yield* fail(withoutKeys(id, ownKeyOf(log)))
    const kept = keptIn(log.meta, yield* this.#stateOf(log))
    if (kept !== undefined) return { info, sums: kept, wereKept: true }
    // A fork may share rows of another session, whose key was destroyed.
    if (info.encrypted && info.forkedFrom !== undefined && len > 0)
      yield* need(this.#store.read(id, { from: 0, to: 1 }))
    const notes = head.size === len ? [] : yield* need(this.#store.read(id, { only: 'note' }))
    const ofHead = notes.filter(({ position }) => position < head.size)
    return { info, sums: sessionSums(explainCalls(callsIn(info, ofHead))), wereKept: false }
  }

  /**
   * Store the sums of a session.
   *
   * Cost    one update of its metadata
   *
   * @param log the log that they are of. If its metadata has changed since, nothing is stored, and the fault is `MetaConflict`
   */
  keep(log: LogInfo, sums: SessionSums): Task<ReadSessionFault | UpdateFault, void> {
    return sessionSteps(() => this.#keep(log, sums), 'keep')
  }

  async *#keep(log: LogInfo, sums: SessionSums): Steps<ReadSessionFault | UpdateFault, void> {
    const of = yield* this.#stateOf(log)
    if (of === undefined) return
    const meta: JsonObject = { ...log.meta, [sumsMember]: { of, ...packSums(sums) } }
    const update = { expected: log.version, meta, ownKey: ownKeyOf(log) ?? null }
    yield* need(ownStore(this.#store).update(log.id, update))
  }

  /** Names the state of a log that sums are of. Equal texts mean equal sums; undefined if the erasures can't be read. */
  async *#stateOf({ id, head }: LogInfo): Steps<ReadSessionFault, string | undefined> {
    this.#erased ??= erasedRowsIn(await ledgerContent(this.#store))
    if (this.#erased === 'unreadable') return undefined
    let count = 0
    const identities = this.#erased.size === 0 ? [] : yield* need(this.#store.identities(id))
    for (const [index, { log, from }] of identities.entries()) {
      const to = identities[index + 1]?.from ?? Infinity
      for (const row of this.#erased.get(log) ?? []) if (row >= from && row < to) count++
    }
    return `${sumsVersion} ${head.size} ${head.root} ${count}`
  }
}

/** The erased rows of a scope, by the identities of their logs. */
type ErasedRows = ReadonlyMap<string, ReadonlySet<number>>

const erasedRowsIn = (ledger: Awaited<ReturnType<typeof ledgerContent>>): ErasedRows | 'unreadable' => {
  if (isLeft(ledger)) return 'unreadable'
  const found = new Map<string, Set<number>>()
  for (const { rows } of ledger.right.erasures)
    for (const { log, row } of rows) found.set(log, (found.get(log) ?? new Set()).add(row))
  return found
}

/** The sums in metadata; undefined if there are none of this state. */
const keptIn = (meta: JsonObject, state: string | undefined): SessionSums | undefined => {
  const kept = Object.hasOwn(meta, sumsMember) ? meta[sumsMember] : undefined
  if (state === undefined || !isObject(kept) || ownField(kept, 'of') !== state) return undefined
  const sums = unpackSums(kept)
  return sums !== undefined && fitsPrices(sums) ? sums : undefined
}

/**
 * Compute and store the sums of a session, unless it has them. A later look at all sessions is then as fast as a list.
 *
 * Cost    O(calls), two reads and one update
 *
 * @returns nothing; a fault loses nothing: the sums are computed when they are needed
 */
export const keepSums = (store: Store, id: string): Task<ReadSessionFault | UpdateFault, void> => {
  const reader = new SumsReader(store)
  return sessionSteps(async function* () {
    const log = yield* need(store.info(id))
    const { sums, wereKept } = yield* need(reader.sumsOf(log))
    if (!wereKept && sums.groups.length > 0) yield* need(reader.keep(log, sums))
  }, 'keepSums')
}
