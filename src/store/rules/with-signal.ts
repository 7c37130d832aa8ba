/** A store for one long operation, which a caller's signal ends. */
import { checkArgument, describe, isLeft, isObject, left, right } from '../../json/index.ts'
import type { SignalLike, Task } from '../../task/index.ts'
import { storeTask, type BlockFault, type MediumFault } from '../fault.ts'
import type { CheckOptions } from '../port/check.ts'
import { isOwnCall } from '../port/own-logs.ts'
import { cancelled, sliceBytes, sliceRows } from '../port/slices.ts'
import type { Store } from '../port/store.ts'
import { shareIdentity } from './block-handle.ts'

/** The calls by which long operations proceed. Those that finish or clean up, such as `fork`, still run. */
const calls = [
  'info',
  'identities',
  'list',
  'pieces',
  'read',
  'nodes',
  'create',
  'append',
  'containing',
  'erase',
] as const
const indexCalls = ['find', 'findIn', 'places', 'logsAt', 'segmentsOf', 'encrypted', 'add', 'drop'] as const

/**
 * The same store for one long operation: once a signal is aborted, its next call is `Cancelled`. A call that has begun goes
 * on to its end, except for `check`, `repair`, and calls with many blocks. So a signal also ends functions without an option for one, such as
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
  const made = Object.freeze<Store>({
    ...withStops(store, signal),
    putBlocks: (blocks) => onBlocks('putBlocks', store.putBlocks, blocks, signal, (bytes) => new Uint8Array(bytes)),
    getBlocks: (ids) => onBlocks('getBlocks', store.getBlocks, ids, signal),
    hasBlocks: (ids) => onBlocks('hasBlocks', store.hasBlocks, ids, signal),
    // The library's own removals clean up.
    remove: (id, options = {}) => store.remove(id, isOwnCall(options) ? options : { signal, ...options }),
    check: (options?: CheckOptions) => store.check({ signal, ...options }),
    repair: (options?: CheckOptions) => store.repair({ signal, ...options }),
    ...(index && { index: Object.freeze({ ...index, ...stopping(index, indexCalls, signal) }) }),
    ...(encryption && { encryption: { ...encryption, bare: withSignal(encryption.bare, signal) } }),
  })
  shareIdentity(made, store)
  return made
}

/** A call with many blocks, as a call for each slice of them: the signal ends it between two. */
const onBlocks = <T extends { readonly length: number }, F extends BlockFault, U>(
  name: string,
  call: (items: readonly T[]) => Task<F, readonly U[]>,
  input: readonly T[],
  signal: SignalLike,
  copy = (item: T): T => item,
): Task<F, readonly U[]> => {
  checkArgument(`store.${name}`, Array.isArray(input), 'a list', input)
  const items = input.map((item: T) => copy(item)) // the caller may change its own
  return storeTask(async () => {
    const done: U[] = []
    for (let start = 0; ;) {
      const ended = cancelled(signal)
      if (ended !== undefined) return left(ended)
      let [end, bytes] = [start, 0]
      for (; end < items.length && end - start < sliceRows && bytes < sliceBytes; end++)
        bytes += (items[end] as T).length
      const part = await call(items.slice(start, end))()
      if (isLeft(part)) return part
      for (const each of part.right) done.push(each)
      if (end === items.length) return right(Object.freeze(done))
      start = end
    }
  }, `store.${name}`) as Task<F, readonly U[]> // `Cancelled` is a fault of each call
}

/** Those calls of a store that a signal can end, and the rest of it. */
export const withStops = <S extends Partial<Store>>(store: S, signal: SignalLike | undefined): S =>
  signal === undefined ? store : { ...store, ...stopping(store, calls, signal) }

const stopping = <T extends object>(object: T, names: readonly (keyof T)[], signal: SignalLike): Partial<T> => {
  const stopped: Partial<T> = {}
  for (const name of names) {
    const call = object[name] as ((...args: readonly unknown[]) => Task<MediumFault, unknown>) | undefined
    if (call === undefined) continue
    stopped[name] = ((...args: readonly unknown[]) => {
      const ended = cancelled(signal)
      return ended === undefined ? call(...args) : storeTask(async () => left(ended), String(name))
    }) as T[typeof name]
  }
  return stopped
}
