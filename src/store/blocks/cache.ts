/** An in-memory cache of recently read or written blocks. It keeps the most recently used, up to a number of bytes. */
import { amount } from '../../task/index.ts'
import { isLeft, right, optionsOf } from '../../json/index.ts'
import { RecentMap } from '../../sequence/index.ts'
import type { BlockId } from '../../proof/internal.ts'
import { shareIdentity } from '../rules/block-handle.ts'
import { storeTask } from '../fault.ts'
import type { BlockStore } from '../port/store.ts'

declare class BlockCacheBrand {
  readonly #cache: never
}

/** A cache for all scopes of one store. Branded: only `blockCache` makes one. */
export interface BlockCache extends BlockCacheBrand {
  /** The bytes in the cache, counted as for `maxBytes`. */
  readonly bytes: number
}

/** The limits of a block cache. */
interface BlockCacheOptions {
  /** The maximum number of bytes: the blocks and the overhead of caching them. Default: 64 MiB. */
  readonly maxBytes?: number
}

/**
 * A cache for {@link cachedBlocks}. It keeps the most recently used blocks, up to a number of bytes.
 *
 * @param options the limit
 */
export const blockCache = (options: BlockCacheOptions = {}): BlockCache => {
  const { maxBytes = 64 * 1024 * 1024 } = optionsOf('blockCache', options, { maxBytes: true })
  amount('blockCache: maxBytes', maxBytes, { unit: 'bytes' })
  const lately = new RecentMap<string, Uint8Array>(maxBytes, ({ length }) => length + overhead)
  const cache = Object.freeze({
    get bytes() {
      return lately.weight
    },
  }) as unknown as BlockCache // the only place that makes one
  cacheMaps.set(cache, lately)
  return cache
}

/**
 * A block store that reads only uncached blocks. A cached block never gets stale, because its id is
 * the hash of its content. Scopes don't share cached blocks.
 *
 * Cost    O(blocks); each is copied
 *
 * @param store the block store to read from
 * @param cache the cache, from `blockCache`
 * @throws TypeError if `blockCache` did not make the cache
 */
export const cachedBlocks = (store: BlockStore, cache: BlockCache): BlockStore => {
  const lately = cacheMaps.get(cache)
  if (lately === undefined) throw new TypeError('cachedBlocks needs a cache that was made by blockCache')
  const keyOf = (id: BlockId): string => `${id}${store.scope}`
  const cacheBlock = (id: BlockId, bytes: Uint8Array): void => {
    if (!lately.has(keyOf(id))) lately.set(keyOf(id), bytes)
  }
  const cached = Object.freeze<BlockStore>({
    hash: store.hash,
    scope: store.scope,
    ...(store.once !== undefined && { once: store.once }),
    putBlocks: (blocks) =>
      storeTask(async () => {
        const own = Array.from(blocks, (bytes) => new Uint8Array(bytes))
        const ids = await store.putBlocks(own)()
        if (isLeft(ids)) return ids
        for (const [index, id] of ids.right.entries()) cacheBlock(id, own[index] as Uint8Array)
        return ids
      }, 'store.putBlocks'),
    getBlocks: (input) =>
      storeTask(async () => {
        const ids = [...input]
        const found = new Map<BlockId, Uint8Array | undefined>()
        for (const id of ids) if (!found.has(id)) found.set(id, lately.get(keyOf(id)))
        const missing = [...found.keys()].filter((id) => found.get(id) === undefined)
        if (missing.length > 0) {
          const read = await store.getBlocks(missing)()
          if (isLeft(read)) return read
          for (const [index, id] of missing.entries()) {
            const bytes = read.right[index]
            found.set(id, bytes)
            if (bytes !== undefined) cacheBlock(id, bytes)
          }
        }
        return right(Object.freeze(ids.map((id) => copyOf(found.get(id)))))
      }, 'store.getBlocks'),
    hasBlocks: (ids) => store.hasBlocks(ids),
  })
  shareIdentity(cached, store)
  return cached
}

/** `slice` of a Buffer, which a store may return, copies nothing. */
const copyOf = (bytes: Uint8Array | undefined): Uint8Array | undefined => bytes && new Uint8Array(bytes)

const cacheMaps = new WeakMap<BlockCache, RecentMap<string, Uint8Array>>()

/** The approximate overhead of a cached block in bytes: its key, and its place in the map. */
const overhead = 256
