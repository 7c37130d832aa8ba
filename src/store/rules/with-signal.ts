/** A store for one long operation, which a caller's signal ends. */
import { checkArgument, describe, isObject, left } from '../../json/index.ts'
import type { SignalLike, Task } from '../../task/index.ts'
import { storeTask, type MediumFault } from '../fault.ts'
import type { CheckOptions } from '../port/check.ts'
import { cancelled } from '../port/slices.ts'
import type { Store } from '../port/store.ts'
import { shareIdentity } from './block-handle.ts'

/** The calls by which long operations proceed. Those that finish or clean up, such as `fork` and `remove`, still run. */
const calls = [
  'info',
  'identities',
  'list',
  'pieces',
  'read',
  'nodes',
  'getBlocks',
  'hasBlocks',
  'create',
  'append',
  'containing',
  'erase',
] as const
const indexCalls = ['find', 'findIn', 'places', 'logsAt', 'segmentsOf', 'encrypted', 'add'] as const

/**
 * The same store for one long operation: once a signal is aborted, its next call is `Cancelled`. A call that has begun goes
 * on to its end, except for `check` and `repair`. So a signal also ends functions without an option for one, such as
 * `verifyLog` and `explainUsage`.
 *
 * Cost    O(1)
 *
 * @param store the store
 * @param signal the signal of one operation, such as that of an `AbortController`; undefined returns the store itself
 * @returns the store. Closing it closes `store`
 * @throws TypeError if the first argument is not a store, or the second one not a signal
 * @example
 * const abort = new AbortController()
 * const verified = await verifyLog(withSignal(store, abort.signal), 'log')
 */
export const withSignal = (store: Store, signal: SignalLike | undefined): Store => {
  if (typeof (Object(store) as Partial<Store>).info !== 'function')
    throw new TypeError(`withSignal takes a store, such as memoryStore(), found ${describe(store)}`)
  checkArgument('withSignal', signal === undefined || isObject(signal), 'a signal', signal)
  if (signal === undefined) return store
  const { encryption, index } = store
  const made: Store = Object.freeze({
    ...withStops(store, signal),
    check: (options?: CheckOptions) => store.check({ signal, ...options }),
    repair: (options?: CheckOptions) => store.repair({ signal, ...options }),
    ...(index && { index: Object.freeze({ ...index, ...stopping(index, indexCalls, signal) }) }),
    ...(encryption && { encryption: { ...encryption, bare: withSignal(encryption.bare, signal) } }),
  })
  shareIdentity(made, store)
  return made
}

/** Those calls of a store that a signal can end, and the rest of it. */
export const withStops = <S extends Partial<Store>>(store: S, signal: SignalLike | undefined): S =>
  signal === undefined ? store : { ...store, ...stopping(store, calls, signal) }

const stopping = <T extends object>(object: T, names: readonly (keyof T)[], signal: SignalLike): Partial<T> => {
  const stopped: Partial<T> = {}
  for (const name of names) {
    const call = object[name] as ((...given: readonly unknown[]) => Task<MediumFault, unknown>) | undefined
    if (call === undefined) continue
    stopped[name] = ((...given: readonly unknown[]) => {
      const ended = cancelled(signal)
      return ended === undefined ? call(...given) : storeTask(async () => left(ended), String(name))
    }) as T[typeof name]
  }
  return stopped
}
