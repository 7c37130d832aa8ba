/** A store for one long operation, which a caller's signal ends. */
import { left } from '../../json/index.ts'
import type { SignalLike, Task } from '../../task/index.ts'
import { storeTask, type MediumFault } from '../fault.ts'
import { cancelled } from '../port/slices.ts'
import type { Store } from '../port/store.ts'
import { shareIdentity } from './block-handle.ts'

/** The calls by which long operations proceed. Those that finish or clean up, such as `fork` and `remove`, still run. */
const calls = [
  'info',
  'identities',
  'read',
  'getBlocks',
  'hasBlocks',
  'create',
  'append',
  'containing',
  'erase',
] as const

/**
 * The same store, whose next call is `Cancelled` once a signal was aborted. A call that has begun is not ended.
 *
 * @param signal undefined returns the store itself
 */
export const stoppable = (store: Store, signal: SignalLike | undefined): Store => {
  if (signal === undefined) return store
  const { encryption } = store
  const made: Store = Object.freeze({
    ...withStops(store, signal),
    ...(encryption && { encryption: { ...encryption, bare: stoppable(encryption.bare, signal) } }),
  })
  shareIdentity(made, store)
  return made
}

/** Those calls of a store that a signal can end, and the rest of it. */
export const withStops = <S extends Partial<Store>>(store: S, signal: SignalLike | undefined): S => {
  if (signal === undefined) return store
  const stopped = calls.flatMap((call) => {
    const inner = store[call] as ((...args: readonly unknown[]) => Task<MediumFault, unknown>) | undefined
    if (inner === undefined) return []
    const stop = (...args: readonly unknown[]): Task<MediumFault, unknown> => {
      const ended = cancelled(signal)
      return ended === undefined ? inner(...args) : storeTask(async () => left(ended), call)
    }
    return [[call, stop]]
  })
  return { ...store, ...(Object.fromEntries(stopped) as Partial<S>) }
}
