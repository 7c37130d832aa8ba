/** A store that maintains its ledger: after every so many appends, and with every removal. */
import { checkStore } from 'indelible/internal/session'
import { isLeft, left, optionsOf } from 'indelible/internal/json'
import { RecentMap } from 'indelible/internal/sequence'
import { withSignal, type Store } from 'indelible/store'
import { isOwnId, shareIdentity, storeTask, type ActionReason } from 'indelible/internal/store'
import { FaultError } from 'indelible/internal/task'
import { evidenceFaultMessage, type AnyEvidenceFault } from './fault.ts'
import { recordRemoval, updateLedger } from './ledger.ts'

/** The number of sessions whose appends are counted, by last append. */
const mostCounted = 50_000

/** When the ledger is written. */
export interface WithLedgerOptions extends ActionReason {
  /**
   * Record a session's head after each `every` appends to it through this handle, counted for the
   * 50,000 sessions last appended to. Default: only removals are recorded.
   */
  readonly every?: number
  /** Receives the fault if a head could not be recorded. The append itself is stored. Default: none. */
  readonly onFault?: (fault: AnyEvidenceFault) => void
}

/**
 * The same store, but it records the heads of its sessions and every removal in the ledger. Create
 * and open sessions on it.
 *
 * If the row of a removal can't be written, nothing is removed and the fault is `Io` with the
 * cause. A head that can't be recorded does not fail the append.
 *
 * Cost    an append to the ledger with every `every`-th append of a session, and with each removal
 * @throws TypeError if `every` is not a whole number above 0
 * @example
 * const session = await createSession(withLedger(store, { every: 100 }), { id: 'support-1' })
 */
export const withLedger = (store: Store, options: WithLedgerOptions = {}): Store => {
  checkStore('withLedger', store)
  const { every, onFault, reason, by } = optionsOf('withLedger', options, {
    every: true,
    onFault: true,
    reason: true,
    by: true,
  })
  if (every !== undefined && !(Number.isSafeInteger(every) && every > 0))
    throw new TypeError(`withLedger: every is ${String(every)}; expected a whole number of appends above 0`)
  const because = { ...(reason !== undefined && { reason }), ...(by !== undefined && { by }) }
  const appends = new RecentMap<string, number>(mostCounted)
  const countAppend = async (id: string): Promise<void> => {
    const count = (appends.get(id) ?? 0) + 1
    if (every === undefined) return
    appends.set(id, count < every ? count : 0)
    if (count < every) return
    const updated = await updateLedger(store, [id])()
    const fault: AnyEvidenceFault | undefined = isLeft(updated)
      ? updated.left
      : updated.right.mismatches.length > 0
        ? { _tag: 'LedgerMismatch', mismatches: updated.right.mismatches }
        : undefined
    if (fault === undefined) return
    try {
      onFault?.(fault)
    } catch {
      // A throwing callback must not fail an append that is stored.
    }
  }
  const kept = Object.freeze<Store>({
    ...store,
    append: (id, append) =>
      storeTask(async () => {
        const appended = await store.append(id, append)()
        if (!isLeft(appended) && !isOwnId(id)) await countAppend(id)
        return appended
      }, 'store.append'),
    remove: (id, call) =>
      storeTask(async () => {
        if (isOwnId(id)) return store.remove(id, call)()
        const recorded = await recordRemoval(withSignal(store, call?.signal), id, because)
        if (!isLeft(recorded)) {
          appends.delete(id)
          return store.remove(id, call)()
        }
        const fault = recorded.left
        if (
          fault._tag === 'NoSuchLog' ||
          fault._tag === 'Closed' ||
          fault._tag === 'LogHeld' ||
          fault._tag === 'Cancelled'
        )
          return left(fault)
        const cause = new FaultError(fault, evidenceFaultMessage(fault))
        return left({ _tag: 'Io', operation: 'record a removal in the ledger', cause })
      }, 'store.remove'),
    scoped: (scope) => {
      const scoped = store.scoped(scope)
      return isLeft(scoped) ? scoped : { _tag: 'Right', right: withLedger(scoped.right, options) }
    },
  })
  shareIdentity(kept, store)
  return kept
}
