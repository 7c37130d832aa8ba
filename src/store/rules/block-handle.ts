/** The blocks of a driver, as a store gives them; and which handles have the same. */
import type { Either } from 'fp-ts/lib/Either.js'
import type { Task } from '../../task/index.ts'
import { isLeft, left, right } from '../../json/index.ts'
import { blockIdOf, type BlockId } from '../../proof/kit.ts'
import { once, ownBlocks } from './checked.ts'
import type { Answer, BlockDriver } from '../port/driver.ts'
import { storeTask, type BlockFault, type StoreFault, type StoreFaultOf } from '../fault.ts'
import { invalidBlockId, invalidId } from '../port/id.ts'
import type { BlockStore, OnceStore } from '../port/store.ts'

/** The scope of a handle that was opened without one. */
export const defaultScope = 'default'

/**
 * Make a block store of a driver, for one scope.
 *
 * @param driver the driver
 * @param scope the scope. Default: `default`
 * @returns the block store; or `InvalidId`
 */
export const blockStoreOf = (
  driver: BlockDriver,
  scope: string = defaultScope,
): Either<StoreFaultOf<'InvalidId'>, BlockStore> => {
  const problem = invalidId('scope', scope)
  if (problem !== undefined) return left(problem)
  const store = Object.freeze(blockHandle(driver, scope, guarded))
  behind.set(store, driver)
  return right(store)
}

/** What keeps the blocks of a handle. */
export const behind: WeakMap<BlockStore, object> = new WeakMap()

/** The same blocks, beside values of which the first stays. */
export const withOnce = (store: BlockStore, once: OnceStore): BlockStore => {
  const both = Object.freeze({ ...store, once })
  standsFor(both, store)
  return both
}

/**
 * Declare that a handle has the blocks of another one, so that `sameBlocks` is true of both.
 *
 * @param store the new handle
 * @param other the handle whose blocks it has
 */
export const standsFor = (store: BlockStore, other: BlockStore): void =>
  void behind.set(store, behind.get(other) ?? other)

/**
 * Whether two handles have the same blocks: one scope of one opened store, with or without a cache.
 *
 * @param one a handle
 * @param other another handle
 * @returns true if they have
 */
export const sameBlocks = (one: BlockStore, other: BlockStore): boolean =>
  one.scope === other.scope && (behind.get(one) ?? one) === (behind.get(other) ?? other)

/** Makes a task of what a driver does. */
export type Run = <F extends StoreFault, T>(operation: string, work: () => Answer<T>, call: string) => Task<F, T>

// The one cast: that a driver gives no other faults than the port names is what `storeContract` sees to.

export const guarded: Run = <F extends StoreFault, T>(operation: string, work: () => Answer<T>, call: string) =>
  storeTask(async () => {
    try {
      return await work()
    } catch (cause) {
      return left({ _tag: 'Io', operation, cause, ...(changing.has(operation) && { outcome: 'unknown' as const }) })
    }
  }, call) as Task<F, T>

/** Operations that change something: of one that throws, nobody knows whether it did. */
const changing: ReadonlySet<string> = new Set([
  'create a log',
  'update metadata',
  'append',
  'fork',
  'remove a log',
  'erase rows',
  'put blocks',
  'take a lease',
  'renew a lease',
  'release a lease',
  'ask a holder to stop',
])

export const blockHandle = (driver: BlockDriver, scope: string, run: Run): BlockStore => {
  const { hash } = driver
  /** The driver gets each id once. */
  const onBlocks = <T>(
    operation: string,
    given: readonly BlockId[],
    work: (ids: readonly BlockId[]) => Answer<T>,
    call: string,
  ): Task<BlockFault, T> =>
    run(
      operation,
      async () => {
        const problem = invalidBlockId(given)
        return problem === undefined ? work([...new Set(given)]) : left(problem)
      },
      call,
    )
  return {
    hash,
    scope,
    putBlocks: (given) =>
      run(
        'put blocks',
        async () => {
          const blocks = ownBlocks(given, hash)
          const done = await driver.putBlocks(scope, once(blocks))
          return isLeft(done) ? done : right(Object.freeze(blocks.map((block) => block.id)))
        },
        'store.putBlocks',
      ),
    getBlocks: (given) => {
      const wanted = [...given]
      return onBlocks(
        'get blocks',
        wanted,
        async (ids) => {
          const found = await driver.getBlocks(scope, ids)
          if (isLeft(found)) return found
          const damaged = [...found.right].filter(([id, bytes]) => blockIdOf(bytes, hash) !== id).map(([id]) => id)
          return damaged.length > 0
            ? left({ _tag: 'DamagedBlock', ids: damaged })
            : right(Object.freeze(wanted.map((id) => found.right.get(id))))
        },
        'store.getBlocks',
      )
    },
    hasBlocks: (given) => {
      const wanted = [...given]
      return onBlocks(
        'look for blocks',
        wanted,
        async (ids) => {
          const found = await driver.hasBlocks(scope, ids)
          return isLeft(found) ? found : right(Object.freeze(wanted.map((id) => found.right.has(id))))
        },
        'store.hasBlocks',
      )
    },
  }
}
