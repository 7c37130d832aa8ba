/**
 * Blocks in a key-value store that you provide: Redis, S3, DynamoDB, a map.
 *
 * Blocks only. A log needs an append that either happens at the expected head or fails, and reads and
 * writes by key can't guarantee that to two writers. Blocks don't need it: their ids are hashes of
 * their content, so all writers of a block write the same bytes, and writing it again changes nothing.
 */
import { describe, isLeft, left, right, optionsOf } from '../../json/index.ts'
import type { Task } from '../../task/index.ts'
import { blockIdOf, portableSha256, type BlockId, type Hash } from '../../proof/internal.ts'
import { blockStoreOf, defaultScope, withOnceStore } from '../rules/block-handle.ts'
import { storeTask, type MediumFault, type StoreFaultOf } from '../fault.ts'
import type { CheckOptions } from '../port/check.ts'
import { invalidId } from '../port/id.ts'
import { cancelled } from '../port/slices.ts'
import type { BlockStore, OnceStore } from '../port/store.ts'

/**
 * The interface of a key-value store, for you to implement; `keyValueContract` in `@indelible/testing`
 * checks it. Keys are letters, digits and `/ _ - %`, at most 1,000 characters. A failure throws.
 */
export interface KeyValueStore {
  /**
   * Read values. Keys may repeat. Return copies: a caller may change its bytes.
   *
   * @returns the values, in the same order; undefined or null for a key without one
   */
  readonly mget: (keys: readonly string[]) => Promise<readonly (Uint8Array | undefined | null)[]>
  /**
   * Store values. Resolves once all of them are stored. If it fails halfway, it is called again.
   * Copy them: a caller may change its bytes.
   */
  readonly mset: (entries: readonly KeyValue[]) => Promise<void>
  /**
   * Remove every key with a prefix. It may fail halfway. Only `removeBlocks` and removals from `once` need it.
   *
   * @param prefix the start of the keys
   */
  readonly deletePrefix?: (prefix: string) => Promise<void>
  /**
   * Store a value, if the key has none. If several writers try at once, exactly one gets true. In Redis
   * this is `SET key value NX`, in S3 `If-None-Match: *`, in DynamoDB `attribute_not_exists`, in SQL
   * `insert … on conflict do nothing`. Cloudflare KV has no equivalent: omit the method there.
   *
   * @returns true if it was stored; false if the key already has a value
   */
  readonly putIfAbsent?: (key: string, value: Uint8Array) => Promise<boolean>
  /**
   * List keys. Only `list` of `once` needs it.
   *
   * @param prefix the start of the keys
   * @returns each key once, in any order
   */
  readonly keys?: (prefix: string) => Iterable<string> | AsyncIterable<string>
}

/** A key and its value. */
export type KeyValue = readonly [key: string, value: Uint8Array]

/** The options of `keyValueBlocks`. */
interface KeyValueOptions {
  /** The start of every key. Default: `indelible`. */
  readonly prefix?: string
  /** The scope of the blocks. Default: `default`. */
  readonly scope?: string
  /** The hash function: SHA-256. Default: Node's, or one in JavaScript outside Node. */
  readonly hash?: Hash
  /** The maximum number of keys in one call. More keys take several calls, one after the other. Default: 500. */
  readonly keysPerCall?: number
}

/**
 * The blocks of a scope in a key-value store, under `prefix/scope/id`. Blocks are checked against
 * their ids when read. With `putIfAbsent` the store also has `once`, under `prefix/scope/once/`,
 * which activities need to return exactly one result.
 *
 * Cost    one call of the key-value store for each `keysPerCall` blocks; `hasBlocks` reads them
 *
 * @param options prefix, scope, hash function and keys per call
 * @throws TypeError if `scope` or `prefix` is invalid
 * @example
 * const blocks = keyValueBlocks({
 *   mget: (keys) => redis.mGet(keys),
 *   mset: (entries) => redis.mSet(entries),
 * })
 */
export const keyValueBlocks = (keyValue: KeyValueStore, options: KeyValueOptions = {}): BlockStore => {
  const {
    prefix,
    scope = defaultScope,
    hash = portableSha256,
    keysPerCall,
  } = optionsOf('keyValueBlocks', options, {
    prefix: true,
    scope: true,
    hash: true,
    keysPerCall: true,
  })
  checkKeyValue('keyValueBlocks', keyValue, ['mget', 'mset'])
  const keyOf = keysOf(prefix, scope)
  const read = async (ids: readonly BlockId[]): Promise<ReadonlyMap<BlockId, Uint8Array>> => {
    const values = await valuesOf(keyValue, ids.map(keyOf), keysPerCall)
    return new Map(ids.flatMap((id, index) => (values[index] === undefined ? [] : [[id, values[index]] as const])))
  }
  const blocks = blockStoreOf(
    {
      hash,
      putBlocks: async (_, blocks) => {
        for (const chunk of chunks(blocks, keysPerCall))
          await keyValue.mset(chunk.map(({ id, bytes }) => [keyOf(id), bytes] as const))
        return right(undefined)
      },
      getBlocks: async (_, ids) => right(await read(ids)),
      hasBlocks: async (_, ids) =>
        right(new Set([...(await read(ids))].filter(([id, bytes]) => blockIdOf(bytes, hash) === id).map(([id]) => id))),
    },
    scope,
  )
  if (isLeft(blocks)) throw new TypeError(`${JSON.stringify(scope)} can't be a scope`)
  return canPutOnce(keyValue)
    ? withOnceStore(
        blocks.right,
        onceOf(keyValue, (name) => keyOf(`once/${name}`), keysPerCall),
      )
    : blocks.right
}

/** Checks a property and calls the method on the store itself: a class's method needs its `this`. */
const canPutOnce = (store: KeyValueStore): store is KeyValueStore & Required<Pick<KeyValueStore, 'putIfAbsent'>> =>
  store.putIfAbsent !== undefined

const onceOf = (
  keyValue: KeyValueStore & Required<Pick<KeyValueStore, 'putIfAbsent'>>,
  keyOf: (name: string) => string,
  keysPerCall: number | undefined,
): OnceStore => {
  const io = <T>(operation: string, work: () => Promise<T>, call: string): Task<MediumFault, T> =>
    storeTask(async () => {
      try {
        return right(Object.freeze(await work()))
      } catch (cause) {
        return left({ _tag: 'Io', operation, cause })
      }
    }, call)
  return Object.freeze<OnceStore>({
    get: (names) => io('get values', () => valuesOf(keyValue, names.map(keyOf), keysPerCall), 'once.get'),
    put: (name, value) =>
      io(
        'put a value',
        async () => (await keyValue.putIfAbsent(keyOf(name), new Uint8Array(value))) === true,
        'once.put',
      ),
    ...(keyValue.keys !== undefined && {
      list: (start = '') =>
        io(
          'list names',
          async () => {
            const names: string[] = []
            for await (const key of keyValue.keys?.(keyOf(start)) ?? []) names.push(key.slice(keyOf('').length))
            return names
          },
          'once.list',
        ),
    }),
    ...(keyValue.deletePrefix !== undefined && {
      remove: (start) => io('remove values', async () => keyValue.deletePrefix?.(keyOf(start)), 'once.remove'),
    }),
  })
}

/**
 * Read any number of keys. The values are copied as plain bytes.
 *
 * Cost    one `mget` for each `keysPerCall` keys, one after the other
 *
 * @param keysPerCall the maximum number of keys in one call. Default: 500
 * @returns the values, in the same order; undefined for a key without one
 * @throws Error if `mget` does not return bytes for each key, and any error of `mget`
 */
export const valuesOf = async (
  keyValue: Pick<KeyValueStore, 'mget'>,
  keys: readonly string[],
  keysPerCall?: number,
): Promise<readonly (Uint8Array | undefined)[]> => {
  const found: (Uint8Array | undefined)[] = []
  for (const chunk of chunks(keys, keysPerCall)) {
    const values = await keyValue.mget(chunk)
    if (values.length !== chunk.length)
      throw new Error(`mget returned ${values.length} values for ${chunk.length} keys`)
    for (const value of values) {
      if (value !== undefined && value !== null && !(value instanceof Uint8Array))
        throw new Error(`mget returned a value of type ${typeof value}, not bytes`)
      found.push(value === undefined || value === null ? undefined : new Uint8Array(value))
    }
  }
  return found
}

/**
 * Remove all blocks of a scope. Refs to them can no longer be hydrated.
 *
 * @param options prefix and scope, as for `keyValueBlocks`; a signal that ends it before `deletePrefix` is called
 * @returns nothing; or `Io`, `Cancelled`
 */
export const removeBlocks = (
  keyValue: KeyValueStore & Required<Pick<KeyValueStore, 'deletePrefix'>>,
  options: Pick<KeyValueOptions, 'prefix' | 'scope'> & CheckOptions = {},
): Task<StoreFaultOf<'Io' | 'Cancelled'>, void> => {
  const names = { prefix: true, scope: true, signal: true } as const
  const { prefix, scope = defaultScope, signal } = optionsOf('removeBlocks', options, names)
  checkKeyValue('removeBlocks', keyValue, ['deletePrefix'])
  return storeTask(async () => {
    const ended = cancelled(signal)
    if (ended !== undefined) return left(ended)
    try {
      return right(await keyValue.deletePrefix(keysOf(prefix, scope)('')))
    } catch (cause) {
      return left({ _tag: 'Io', operation: 'remove blocks', cause })
    }
  }, 'removeBlocks')
}

/** Throws a TypeError unless the key-value store has these methods. A `Map` has none of them. */
const checkKeyValue = (call: string, value: KeyValueStore, methods: readonly (keyof KeyValueStore)[]): void => {
  for (const method of methods)
    if (typeof (Object(value) as Partial<KeyValueStore>)[method] !== 'function')
      throw new TypeError(`${call} takes a key-value store with a method \`${method}\`, found ${describe(value)}`)
}

/** Makes keys that are safe in paths, patterns and URLs. No scope's keys are a prefix of another's. */
const keysOf = (prefix = 'indelible', scope: string): ((id: string) => string) => {
  if (invalidId('scope', scope) !== undefined) throw new TypeError(`${JSON.stringify(scope)} can't be a scope`)
  if (prefix.length > 100 || !/^[\w-]+(?:\/[\w-]+)*$/.test(prefix))
    throw new TypeError(
      `${JSON.stringify(prefix)} can't be a prefix: at most 100 letters, digits, _ and -, in parts with / between them`,
    )
  const start = `${prefix}/${encodeURIComponent(scope).replaceAll(/[.!~*'()]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)}/`
  return (id) => start + id
}

function* chunks<T>(items: readonly T[], keysPerCall = 500): Generator<readonly T[]> {
  const size = Math.max(1, Math.floor(keysPerCall) || 1)
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size)
}
