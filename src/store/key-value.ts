/**
 * Blocks in a key-value store that somebody brings along: Redis, S3, DynamoDB, a map.
 *
 * Only blocks: a log needs an append that happens at an expected head or not at all, and reading and writing by key
 * can't promise that to two writers. Blocks need nothing of the sort: their ids say what is in them, so whoever writes
 * one writes the same, and writing it again changes nothing.
 */
import { isLeft, left, right } from '../json/index.ts'
import type { Task } from '../task/index.ts'
import { blockIdOf, portableSha256, type BlockId, type Hash } from '../proof/index.ts'
import { blockStoreOf, defaultScope, withOnce } from './driver.ts'
import { storeTask, type MediumFault, type StoreFaultOf } from './fault.ts'
import { invalidId } from './id.ts'
import type { BlockStore, OnceStore } from './store.ts'

/**
 * What an implementer promises; `keyValueContract` in `indelible/testing` checks it. Keys are letters, digits and
 * `/ _ - %`, at most 1,000 characters. A failure is thrown.
 */
export interface KeyValueStore {
  /** The values under these keys, in the same order; `undefined` or `null` where there is none. Keys may repeat. */
  readonly mget: (keys: readonly string[]) => Promise<readonly (Uint8Array | undefined | null)[]>
  /** Keep values under keys. When it is done, all of them are there. It may fail half-way: then it is called again. */
  readonly mset: (entries: readonly KeyValue[]) => Promise<void>
  /** Remove every key that begins so. It may fail half-way. Asked of nothing but `removeBlocks` and removals from `once`. */
  readonly deletePrefix?: (prefix: string) => Promise<void>
  /**
   * Keep a value under a key that has none: true. If there is one, it stays, and the answer is false. Of writers at the
   * same time exactly one gets true. Redis `SET key value NX`, S3 `If-None-Match: *`, DynamoDB
   * `attribute_not_exists`, SQL `insert … on conflict do nothing`. Cloudflare KV has no such thing: leave it out there.
   */
  readonly putIfAbsent?: (key: string, value: Uint8Array) => Promise<boolean>
  /** The keys that begin so, each once, in any order. Asked of nothing but `list` of `once`. */
  readonly keys?: (prefix: string) => Iterable<string> | AsyncIterable<string>
}

/** Values by keys: what the blocks of a key-value store need. */
export type KeyValue = readonly [key: string, value: Uint8Array]

/** How blocks are kept in a key-value store. */
export interface KeyValueOptions {
  /** What every key begins with. Default: `indelible`. */
  readonly prefix?: string
  /** The scope of the blocks. Default: `default`. */
  readonly scope?: string
  /** Default: SHA-256 in JavaScript. */
  readonly hash?: Hash
  /** How many keys are asked for or written in one call; a call for each such chunk, one after the other. Default: 500. */
  readonly keysPerCall?: number
}

/**
 * The blocks of a scope in a key-value store, under `prefix/scope/id`. What is read is held against its id. With
 * `putIfAbsent` the store has `once`, under `prefix/scope/once/`: activities need it to give exactly one answer.
 *
 * Cost    one call of the key-value store for each `keysPerCall` blocks; `hasBlocks` reads them
 * Throws  TypeError, if `scope` or `prefix` can't be one
 * @example
 * const blocks = keyValueBlocks({
 *   mget: (keys) => redis.mGet(keys),
 *   mset: (entries) => redis.mSet(entries),
 * })
 */
export const keyValueBlocks = (
  keyValue: KeyValueStore,
  { prefix, scope = defaultScope, hash = portableSha256, keysPerCall }: KeyValueOptions = {},
): BlockStore => {
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
    ? withOnce(
        blocks.right,
        onceOf(keyValue, (name) => keyOf(`once/${name}`), keysPerCall),
      )
    : blocks.right
}

/** Asked of the store itself, and called on it: a method of a class needs its `this`. */
const canPutOnce = (store: KeyValueStore): store is KeyValueStore & Required<Pick<KeyValueStore, 'putIfAbsent'>> =>
  store.putIfAbsent !== undefined

const onceOf = (
  keyValue: KeyValueStore & Required<Pick<KeyValueStore, 'putIfAbsent'>>,
  keyOf: (name: string) => string,
  keysPerCall: number | undefined,
): OnceStore => {
  const io = <T>(operation: string, work: () => Promise<T>): Task<MediumFault, T> =>
    storeTask(async () => {
      try {
        return right(await work())
      } catch (cause) {
        return left({ _tag: 'Io', operation, cause })
      }
    }, `once.${operation}`)
  return Object.freeze<OnceStore>({
    get: (names) => io('get values', () => valuesOf(keyValue, names.map(keyOf), keysPerCall)),
    put: (name, value) => io('put a value', async () => (await keyValue.putIfAbsent(keyOf(name), value)) === true),
    ...(keyValue.keys !== undefined && {
      list: (start = '') =>
        io('list names', async () => {
          const names: string[] = []
          for await (const key of keyValue.keys?.(keyOf(start)) ?? []) names.push(key.slice(keyOf('').length))
          return names
        }),
    }),
    ...(keyValue.deletePrefix !== undefined && {
      remove: (start) => io('remove values', async () => keyValue.deletePrefix?.(keyOf(start))),
    }),
  })
}

/**
 * The values under any number of keys, in their order, as plain bytes of our own; `undefined` where there is none.
 *
 * Cost    one `mget` for each `keysPerCall` keys (default: 500), one after the other
 * Throws  Error, if it is given something else than bytes for each key; what `mget` throws
 */
export const valuesOf = async (
  keyValue: Pick<KeyValueStore, 'mget'>,
  keys: readonly string[],
  keysPerCall?: number,
): Promise<readonly (Uint8Array | undefined)[]> => {
  const found: (Uint8Array | undefined)[] = []
  for (const chunk of chunks(keys, keysPerCall)) {
    const values = await keyValue.mget(chunk)
    if (values.length !== chunk.length) throw new Error(`mget gave ${values.length} values for ${chunk.length} keys`)
    for (const value of values) {
      if (value !== undefined && value !== null && !(value instanceof Uint8Array))
        throw new Error(`mget gave a value that is ${typeof value}, not bytes`)
      found.push(value === undefined || value === null ? undefined : new Uint8Array(value))
    }
  }
  return found
}

/** Remove every block of a scope. Refs to them can't be hydrated any more. */
export const removeBlocks = (
  keyValue: KeyValueStore & Required<Pick<KeyValueStore, 'deletePrefix'>>,
  { prefix, scope = defaultScope }: Pick<KeyValueOptions, 'prefix' | 'scope'> = {},
): Task<StoreFaultOf<'Io'>, void> =>
  storeTask(async () => {
    try {
      return right(await keyValue.deletePrefix(keysOf(prefix, scope)('')))
    } catch (cause) {
      return left({ _tag: 'Io', operation: 'remove blocks', cause })
    }
  }, 'removeBlocks')

/** Keys that are safe in paths, patterns and URLs: one scope's can't begin with another's. */
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
