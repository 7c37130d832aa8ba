import { faultMessage } from 'indelible'
import { DatabaseSync } from 'node:sqlite'
import { isLeft, isRight, right } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import type { BlockId } from '../../src/proof/internal.ts'
import {
  blockCache,
  cachedBlocks,
  keyValueBlocks,
  memoryStore,
  removeBlocks,
  type BlockStore,
  type KeyValueStore,
} from 'indelible/store'
import { blockContract, keyValueContract, type KeyValuePlace } from '@indelible/testing'
import { keyValueMap } from './key-value-map.ts'
import { storeTask } from '../../src/store/internal.ts'

for (const { name, run } of keyValueContract('a map', async () => ({ store: keyValueMap() }))) it(name, run)

/** A table of a database: it gives null for what is missing, and Buffers. */
const table = async () => {
  const db = new DatabaseSync(':memory:')
  db.exec('create table kv (key text primary key, value blob not null)')
  const store: KeyValueStore = {
    mget: async (keys) => {
      const get = db.prepare('select value from kv where key = ?')
      return keys.map((key) => {
        const row = get.get(key)
        return row === undefined ? null : Buffer.from(row['value'] as Uint8Array)
      })
    },
    mset: async (entries) => {
      const put = db.prepare('insert into kv values (?, ?) on conflict do update set value = excluded.value')
      for (const [key, value] of entries) put.run(key, value)
    },
    putIfAbsent: async (key, value) =>
      db.prepare('insert into kv values (?, ?) on conflict do nothing').run(key, value).changes === 1,
    keys: (prefix) =>
      db
        .prepare('select key from kv where substr(key, 1, ?) = ?')
        .all(prefix.length, prefix)
        .map(({ key }) => String(key)),
  }
  return { store, leave: async () => db.close() }
}

for (const { name, run } of keyValueContract('a table', table)) it(name, run)

/** A client as most are: a class, whose methods are of its prototype and need their `this`. */
class Client implements Required<Omit<KeyValueStore, 'keys'>> {
  readonly #map = new Map<string, Uint8Array>()

  async mget(keys: readonly string[]): Promise<readonly (Uint8Array | undefined)[]> {
    return keys.map((key) => this.#map.get(key)?.slice())
  }

  async mset(entries: readonly (readonly [string, Uint8Array])[]): Promise<void> {
    for (const [key, value] of entries) this.#map.set(key, value.slice())
  }

  async putIfAbsent(key: string, value: Uint8Array): Promise<boolean> {
    return !this.#map.has(key) && this.#map.set(key, value.slice()) !== undefined
  }

  async deletePrefix(prefix: string): Promise<void> {
    for (const key of this.#map.keys()) if (key.startsWith(prefix)) this.#map.delete(key)
  }
}

/** A place that is one too. */
class Place implements Required<KeyValuePlace> {
  readonly store = new Client()
  #left = false

  async leave(): Promise<void> {
    if (this.#left) throw new Error('it was left before')
    this.#left = true
  }
}

for (const { name, run } of keyValueContract('a class', async () => new Place())) it(name, run)

/** A store of blocks that is a class, as an adapter of somebody's may be. */
class Blocks implements BlockStore {
  readonly #inner = memoryStore()
  readonly hash = this.#inner.hash
  readonly scope = this.#inner.scope

  putBlocks(blocks: readonly Uint8Array[]): ReturnType<BlockStore['putBlocks']> {
    return this.#inner.putBlocks(blocks)
  }

  getBlocks(ids: readonly BlockId[]): ReturnType<BlockStore['getBlocks']> {
    return this.#inner.getBlocks(ids)
  }

  hasBlocks(ids: readonly BlockId[]): ReturnType<BlockStore['hasBlocks']> {
    return this.#inner.hasBlocks(ids)
  }
}

for (const { name, run } of blockContract('a class', async () => ({ store: new Blocks() }))) it(name, run)
for (const { name, run } of blockContract('a cache before a class', async () => ({
  store: cachedBlocks(new Blocks(), blockCache()),
})))
  it(name, run)
for (const { name, run } of blockContract('memory', async () => ({ store: memoryStore() }))) it(name, run)
for (const { name, run } of blockContract('a cache', async () => ({
  store: cachedBlocks(memoryStore(), blockCache()),
})))
  it(name, run)
for (const { name, run } of blockContract('a cache that keeps almost nothing', async () => ({
  store: cachedBlocks(memoryStore(), blockCache({ maxBytes: 600 })),
})))
  it(name, run)

const bytes = (length: number, seed: number): Uint8Array => new Uint8Array(length).fill(seed)

describe('blocks in a key-value store', () => {
  it('are requested in chunks, each once', async () => {
    const calls: number[] = []
    const map = keyValueMap()
    const store = keyValueBlocks(
      {
        mget: (keys) => (calls.push(keys.length), map.mget(keys)),
        mset: (entries) => (calls.push(entries.length), map.mset(entries)),
      },
      { keysPerCall: 4 },
    )
    const ids = await store.putBlocks(Array.from({ length: 10 }, (_, index) => bytes(3, index % 9)))()
    expect(calls.splice(0)).toEqual([4, 4, 1])
    expect(isRight(ids) && isRight(await store.getBlocks([...ids.right, ...ids.right])())).toBe(true)
    expect(calls.splice(0)).toEqual([4, 4, 1])
    await store.getBlocks([])()
    await store.putBlocks([])()
    expect(calls).toEqual([])
  })
  it('that were altered are a fault', async () => {
    const map = new Map<string, Uint8Array>()
    const store = keyValueBlocks(keyValueMap(map), { prefix: 'x/y', scope: 'team a/b' })
    const put = await store.putBlocks([bytes(3, 1), bytes(3, 2)])()
    const [key] = map.keys()
    expect(key).toMatch(/^x\/y\/team%20a%2Fb\/[0-9a-f]{64}$/)
    map.set(key ?? '', bytes(3, 9))
    const got = await store.getBlocks(isRight(put) ? put.right : [])()
    expect(isLeft(got) && got.left).toEqual({ _tag: 'DamagedBlock', ids: [key?.slice(-64)] })
  })
  it('have keys that are safe in paths, patterns and URLs, in any scope', async () => {
    for (const scope of ['..', "a.b!~*'()", '[x]?', 'ä 🙂/\\', '%2E']) {
      const map = new Map<string, Uint8Array>()
      await keyValueBlocks(keyValueMap(map), { scope }).putBlocks([bytes(1, 1)])()
      expect([...map.keys()]).toEqual([expect.stringMatching(/^indelible\/[\w%-]+\/[0-9a-f]{64}$/)])
    }
  })
  it('of a failing or misbehaving store are a fault with a reason', async () => {
    const said = async (
      store: Partial<KeyValueStore>,
      task: (blocks: BlockStore) => Promise<unknown>,
    ): Promise<string> => {
      const blocks = keyValueBlocks({ ...keyValueMap(), ...store })
      const answer = (await task(blocks)) as { readonly _tag: string; readonly left: never }
      return answer._tag === 'Left' ? faultMessage(answer.left) : 'fine'
    }
    const id = 'ab'.repeat(32) as never
    expect(
      await said({ mget: () => Promise.reject(new Error('no route')) }, (blocks) => blocks.getBlocks([id])()),
    ).toBe('the store failed to get blocks: no route')
    expect(await said({ mget: async () => [] }, (blocks) => blocks.hasBlocks([id])())).toBe(
      'the store failed to look for blocks: mget returned 0 values for 1 keys',
    )
    expect(await said({ mget: async () => ['text' as never] }, (blocks) => blocks.getBlocks([id])())).toBe(
      'the store failed to get blocks: mget returned a value of type string, not bytes',
    )
    expect(
      await said({ mset: () => Promise.reject(new Error('full')) }, (blocks) => blocks.putBlocks([bytes(1, 1)])()),
    ).toMatch(/^the store failed to put blocks: full; the change may have been made: try again/)
  })
  it('need a valid scope and prefix', () => {
    for (const options of [
      { scope: '' },
      { scope: '\n' },
      { prefix: '' },
      { prefix: 'a//b' },
      { prefix: '../x' },
      { prefix: 'a*' },
      { prefix: 'x'.repeat(101) },
    ])
      expect(() => keyValueBlocks(keyValueMap(), options)).toThrow(/can't be a (?:scope|prefix)/)
  })
})

describe('a cache of blocks', () => {
  const counting = () => {
    const asked: number[] = []
    const inner = memoryStore()
    const scoped = (scope: string): BlockStore => {
      const store = inner.scoped(scope)
      if (isLeft(store)) throw new Error(scope)
      return { ...store.right, getBlocks: (ids) => (asked.push(ids.length), store.right.getBlocks(ids)) }
    }
    return { asked, scoped }
  }
  it('is read first, and only missing blocks are fetched, once', async () => {
    const { asked, scoped } = counting()
    const [store, cache] = [scoped('a'), blockCache()]
    const put = await store.putBlocks([1, 2, 3].map((seed) => bytes(10, seed)))()
    const ids = isRight(put) ? put.right : []
    const cached = cachedBlocks(store, cache)
    await cached.getBlocks(ids.slice(0, 2))()
    await cached.getBlocks([...ids, ...ids])()
    expect(await cachedBlocks(store, cache).getBlocks(ids)()).toMatchObject({
      right: [1, 2, 3].map((seed) => bytes(10, seed)),
    })
    expect(asked).toEqual([2, 1])
  })
  it('contains blocks written through it', async () => {
    const { asked, scoped } = counting()
    const cached = cachedBlocks(scoped('a'), blockCache())
    const put = await cached.putBlocks([bytes(10, 1)])()
    await cached.getBlocks(isRight(put) ? put.right : [])()
    expect(asked).toEqual([])
  })
  it('keeps scopes apart', async () => {
    const { scoped } = counting()
    const cache = blockCache()
    const put = await cachedBlocks(scoped('a'), cache).putBlocks([bytes(10, 1)])()
    expect(await cachedBlocks(scoped('b'), cache).getBlocks(isRight(put) ? put.right : [])()).toMatchObject({
      right: [undefined],
    })
  })
  it('returns copies, also of a Buffer, whose `slice` copies nothing', async () => {
    const inner = memoryStore()
    const put = await inner.putBlocks([bytes(10, 1)])()
    const ids = isRight(put) ? put.right : []
    const getBlocks: BlockStore['getBlocks'] = () =>
      storeTask(async () => right([Buffer.from(bytes(10, 1))]), 'store.getBlocks')
    const cached = cachedBlocks({ ...inner, getBlocks }, blockCache())
    for (let read = 0; read < 3; read++) {
      const found = await cached.getBlocks(ids)()
      const [block] = isRight(found) ? found.right : []
      expect(block).toEqual(bytes(10, 1))
      block?.fill(0) // the caller's own
    }
    // Nor is it changed with the bytes that were written through it.
    const buffer = Buffer.from(bytes(10, 2))
    const stored = cached.putBlocks([buffer])
    buffer.fill(0)
    const written = await stored()
    expect(await cached.getBlocks(isRight(written) ? written.right : [])()).toMatchObject({ right: [bytes(10, 2)] })
  })
  it('holds at most its limit, the most recently used', async () => {
    const { asked, scoped } = counting()
    const cache = blockCache({ maxBytes: 4 * (1000 + 256) })
    const cached = cachedBlocks(scoped('a'), cache)
    const put = await cached.putBlocks([1, 2, 3, 4].map((seed) => bytes(1000, seed)))()
    const ids = isRight(put) ? put.right : []
    expect(cache.bytes).toBe(4 * 1256)
    await cached.getBlocks(ids.slice(0, 1))() // the first is used, so the second is the oldest
    await cached.putBlocks([bytes(1000, 5), bytes(5000, 6)])() // one of them too large to be kept
    expect(cache.bytes).toBe(4 * 1256)
    await cached.getBlocks([ids[0] as never, ids[2] as never, ids[3] as never])()
    expect(asked).toEqual([])
    await cached.getBlocks([ids[1] as never])()
    expect(asked).toEqual([1])
  })
})

it('removeBlocks whose signal is aborted removes nothing', async () => {
  const keyValue = { ...keyValueMap(), deletePrefix: async () => expect.unreachable('it was called') }
  const ended = await removeBlocks(keyValue, { signal: AbortSignal.abort('gone') })()
  expect(ended).toEqual({ _tag: 'Left', left: { _tag: 'Cancelled', cause: 'gone' } })
})
