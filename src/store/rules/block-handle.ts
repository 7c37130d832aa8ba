/** A driver's blocks as a block store, and whether two handles share the same blocks. */
import type { Either } from 'fp-ts/lib/Either.js'
import type { Task } from '../../task/index.ts'
import { checkArgument, isLeft, left, right } from '../../json/index.ts'
import { blockIdOf, type BlockId } from '../../proof/internal.ts'
import { uniqueBlocks } from '../port/plan.ts'
import type { Answer, Block, BlockDriver } from '../port/driver.ts'
import { storeTask, type BlockFault, type StoreFault, type StoreFaultOf } from '../fault.ts'
import { invalidBlockId, invalidId } from '../port/id.ts'
import type { RowIndex } from '../port/row-terms.ts'
import { Slices } from '../port/slices.ts'
import type { BlockStore, OnceStore, Store } from '../port/store.ts'

/** The scope of a handle opened without one. */
export const defaultScope = 'default'

/**
 * Make a block store from a driver, for one scope.
 *
 * @param scope the scope. Default: `default`
 * @returns the block store; or `InvalidId`
 */
export const blockStoreOf = (
  driver: BlockDriver,
  scope: string = defaultScope,
): Either<StoreFaultOf<'InvalidId'>, BlockStore> => {
  const problem = invalidId('scope', scope)
  if (problem !== undefined) return left(problem)
  return right(Object.freeze(blockHandle(driver, scope, guardCall)))
}

/** The driver or store behind each block handle. */
export const storageOf: WeakMap<BlockStore, object> = new WeakMap()

/** Adds write-once values to a block store. */
export const withOnceStore = (store: BlockStore, once: OnceStore): BlockStore => {
  const both = Object.freeze({ ...store, once })
  shareIdentity(both, store)
  return both
}

/**
 * Declare that a handle has the same blocks as another, so that `sameBlocks` is true for both.
 *
 * @param store the new handle
 * @param other the handle whose blocks it has
 */
export const shareIdentity = (store: BlockStore, other: BlockStore): void =>
  void storageOf.set(store, storageOf.get(other) ?? other)

/**
 * Whether two handles have the same blocks: one scope of one opened store, with or without a cache.
 *
 * @param a a handle
 * @param b another handle
 */
export const sameBlocks = (a: BlockStore, b: BlockStore): boolean =>
  a.scope === b.scope && (storageOf.get(a) ?? a) === (storageOf.get(b) ?? b)

/** The target of a call's change: a log, only its lease, or something that is not a log. */
type Changes = 'log' | 'lease' | 'beside'

export type Call =
  | Exclude<keyof Store, 'hash' | 'scope' | 'once' | 'now' | 'encryption' | 'index' | 'scoped'>
  | `index.${keyof RowIndex}`

/** The operation of each call, as named in faults, and the target of its change. */
export const operations: Readonly<Record<Call, readonly [operation: string, changes?: Changes]>> = {
  create: ['create a log', 'log'],
  info: ['read a log'],
  identities: ['read a log'],
  list: ['list logs'],
  pieces: ['list logs'],
  update: ['update metadata', 'log'],
  append: ['append', 'log'],
  read: ['read rows'],
  nodes: ['read nodes'],
  fork: ['fork', 'log'],
  remove: ['remove a log', 'log'],
  erase: ['erase rows', 'beside'],
  sharing: ['look for forks'],
  containing: ['look for texts'],
  watch: ['watch a log'],
  lease: ['take a lease', 'lease'],
  renew: ['renew a lease', 'beside'],
  release: ['release a lease', 'lease'],
  requestStop: ['ask a holder to stop', 'lease'],
  leaseOf: ['read a lease'],
  putBlocks: ['put blocks', 'beside'],
  getBlocks: ['get blocks'],
  hasBlocks: ['look for blocks'],
  'index.find': ['search the index'],
  'index.findIn': ['search the index'],
  'index.places': ['search the index'],
  'index.logsAt': ['search the index'],
  'index.segmentsOf': ['search the index'],
  'index.encrypted': ['list encrypted logs'],
  'index.make': ['make the index'],
  'index.add': ['add to the index'],
  'index.drop': ['drop the index'],
  check: ['check the store'],
  repair: ['repair the store'],
  scopes: ['list the scopes'],
  close: ['close'],
}

/** Turns a driver call into a task. */
export type Run = <F extends StoreFault, T>(call: Call, work: () => Answer<T>) => Task<F, T>

/** Turns an exception into a fault. The only cast: `storeContract` checks that a driver returns no faults beyond the port's. */
export const guardCall: Run = <F extends StoreFault, T>(call: Call, work: () => Answer<T>) =>
  storeTask(async () => {
    try {
      return await work()
    } catch (cause) {
      return exceptionIn(call, cause)
    }
  }, `store.${call}`) as Task<F, T>

/** The fault of a call that threw. The outcome of a changing call is unknown. */
export const exceptionIn = (call: Call, cause: unknown): Either<StoreFaultOf<'Io'>, never> => {
  const [operation, changes] = operations[call]
  return left({ _tag: 'Io', operation, cause, ...(changes !== undefined && { outcome: 'unknown' as const }) })
}

export const blockHandle = (driver: BlockDriver, scope: string, run: Run): BlockStore => {
  const { hash } = driver
  /** Passes each id to the driver once. */
  const onBlocks = <T, U>(
    call: 'getBlocks' | 'hasBlocks',
    ids: readonly BlockId[],
    ask: (ids: readonly BlockId[]) => Answer<T>,
    answer: (found: T, wanted: readonly BlockId[]) => Answer<readonly U[]> | Either<StoreFault, readonly U[]>,
  ): Task<BlockFault, readonly U[]> => {
    checkArgument(`store.${call}`, Array.isArray(ids), 'a list of block ids', ids)
    const wanted = [...ids]
    return run(call, async () => {
      const problem = invalidBlockId(wanted)
      const found = problem === undefined ? await ask([...new Set(wanted)]) : left(problem)
      return isLeft(found) ? found : answer(found.right, wanted)
    })
  }
  return {
    hash,
    scope,
    putBlocks: (input) => {
      checkArgument('store.putBlocks', Array.isArray(input), 'a list of bytes', input)
      return run('putBlocks', async () => {
        const blocks: Block[] = []
        const slices = new Slices()
        for (const bytes of Array.from(input, (entry) => new Uint8Array(entry))) {
          blocks.push({ id: blockIdOf(bytes, hash), bytes }) // a copy: the caller may change its bytes meanwhile
          const turn = slices.next(bytes.length)
          if (turn !== undefined) await turn
        }
        const done = await driver.putBlocks(scope, uniqueBlocks(blocks))
        return isLeft(done) ? done : right(Object.freeze(blocks.map((block) => block.id)))
      })
    },
    getBlocks: (input) =>
      onBlocks(
        'getBlocks',
        input,
        (ids) => driver.getBlocks(scope, ids),
        async (found, wanted) => {
          const damaged: BlockId[] = []
          const slices = new Slices()
          for (const [id, bytes] of found) {
            if (blockIdOf(bytes, hash) !== id) damaged.push(id)
            const turn = slices.next(bytes.length)
            if (turn !== undefined) await turn
          }
          return damaged.length > 0
            ? left({ _tag: 'DamagedBlock', ids: damaged })
            : right(Object.freeze(wanted.map((id) => found.get(id))))
        },
      ),
    hasBlocks: (input) =>
      onBlocks(
        'hasBlocks',
        input,
        (ids) => driver.hasBlocks(scope, ids),
        (found, wanted) => right(Object.freeze(wanted.map((id) => found.has(id)))),
      ),
  }
}
