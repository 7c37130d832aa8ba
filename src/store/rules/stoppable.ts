/** A store for one long operation, which a caller's signal ends. */
import { left } from '../../json/index.ts'
import type { SignalLike, Task } from '../../task/index.ts'
import { storeTask, type MediumFault } from '../fault.ts'
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
  const stopped = Object.fromEntries(
    calls.map((call) => {
      const inner = store[call] as (...args: readonly unknown[]) => Task<MediumFault, unknown>
      return [
        call,
        (...args: readonly unknown[]) =>
          signal.aborted
            ? storeTask(async () => left({ _tag: 'Cancelled', cause: signal.reason } as const), call)
            : inner(...args),
      ]
    }),
  )
  const { encryption } = store
  const made: Store = Object.freeze({
    ...store,
    ...stopped,
    ...(encryption && { encryption: { ...encryption, bare: stoppable(encryption.bare, signal) } }),
  })
  shareIdentity(made, store)
  return made
}
