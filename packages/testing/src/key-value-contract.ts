/** The suite that every key-value store must pass to hold blocks. */
import type { BlockId } from 'indelible/internal/proof'
import { keyValueBlocks, removeBlocks, type BlockStore, type KeyValueStore } from 'indelible/store'
import { blockContract, bytes, casesOn } from './block-contract.ts'
import { equal, valueOrThrow, faultOf, mustEqual, mustHold, type ContractCase } from './check.ts'

/** The place of the suite: a key-value store that is empty at first. */
export interface KeyValuePlace {
  /** The key-value store to test, empty at first. */
  readonly store: KeyValueStore
  /** Clean up. */
  readonly leave?: () => Promise<void>
}

/**
 * The suite for key-value stores: the guarantees of the interface, and `blockContract` on its
 * blocks. Each case creates its own place, so cases may run in parallel.
 *
 * @param name the name of the adapter, for case names
 * @param makePlace creates an empty place
 * @example
 * for (const { name, run } of keyValueContract('redis', async () => ({ store: await emptyRedis() }))) it(name, run)
 */
export const keyValueContract = (name: string, makePlace: () => Promise<KeyValuePlace>): readonly ContractCase[] => [
  ...casesOn(name, keyValueCases, makePlace),
  ...blockContract(`${name}, its blocks`, async () => {
    const place = await makePlace()
    return { store: keyValueBlocks(place.store, { scope: 'a scope: ./*' }), leave: async () => place.leave?.() }
  }),
]

const getValues = async (store: KeyValueStore, keys: readonly string[]): Promise<readonly unknown[]> =>
  (await store.mget(keys)).map((value) => (value instanceof Uint8Array ? new Uint8Array(value) : (value ?? undefined)))

/** Checks the store itself and calls the method on it, because a class method needs its `this`. */
const canDeletePrefix = (store: KeyValueStore): store is Required<KeyValueStore> => store.deletePrefix !== undefined

const canPutIfAbsent = (store: KeyValueStore): store is KeyValueStore & Required<Pick<KeyValueStore, 'putIfAbsent'>> =>
  store.putIfAbsent !== undefined

const keyValueCases: Readonly<Record<string, (store: KeyValueStore) => Promise<void>>> = {
  'values come back byte for byte, in the order of the keys, undefined for missing ones': async (store) => {
    const [empty, every, long] = [
      new Uint8Array(0),
      Uint8Array.from({ length: 256 }, (_, index) => index),
      bytes(300_000),
    ]
    await store.mset([
      ['k/empty', empty],
      ['k/every', every],
      ['k/long', long],
    ])
    mustEqual(await getValues(store, ['k/long', 'k/none', 'k/empty', 'k/long', 'k/every']), [
      long,
      undefined,
      empty,
      long,
      every,
    ])
  },
  'empty batches are fine': async (store) => {
    await store.mset([])
    mustEqual(await getValues(store, []), [])
  },
  'a whole chunk can be written and read in one call': async (store) => {
    const entries = Array.from({ length: 500 }, (_, index) => [`many/${index}`, bytes(20, index)] as const)
    await store.mset(entries)
    mustEqual(
      await getValues(store, entries.map(([key]) => key).toReversed()),
      entries.map(([, value]) => value).toReversed(),
    )
  },
  'writing a key again replaces its value': async (store) => {
    await store.mset([
      ['again', bytes(10, 1)],
      ['other', bytes(10, 2)],
    ])
    await store.mset([['again', bytes(5, 3)]])
    await store.mset([['again', bytes(5, 3)]])
    mustEqual(await getValues(store, ['again', 'other']), [bytes(5, 3), bytes(10, 2)])
  },
  'similar keys are different keys': async (store) => {
    const keys = [
      'p/a',
      'p/A',
      'p/a/',
      'p/a/b',
      'p%2Fa',
      'p%2fa',
      'p_a',
      'p-a',
      'p/__proto__',
      'constructor',
      `p/${'x'.repeat(990)}`,
    ]
    await store.mset(keys.map((key, index) => [key, bytes(8, index)] as const))
    mustEqual(
      await getValues(store, keys),
      keys.map((_, index) => bytes(8, index)),
    )
    mustEqual(await getValues(store, ['p', 'p/', '__proto__', 'toString']), [
      undefined,
      undefined,
      undefined,
      undefined,
    ])
  },
  'the bytes passed in and the bytes returned belong to the caller': async (store) => {
    const mine = bytes(50)
    await store.mset([['mine', mine]])
    mine.fill(0)
    const [first] = await store.mget(['mine'])
    if (first instanceof Uint8Array) first.fill(1)
    const [stored] = await getValues(store, ['mine'])
    mustHold(equal(stored, bytes(50)), 'mset and mget copy the bytes')
  },
  'concurrent writers lose none of their values': async (store) => {
    const writers = Array.from({ length: 8 }, (_, writer) =>
      Array.from({ length: 50 }, (_, index) => [`w/${writer}/${index}`, bytes(30, writer * 50 + index)] as const),
    )
    await Promise.all(writers.map((entries) => store.mset(entries)))
    const all = writers.flat()
    mustEqual(
      await getValues(
        store,
        all.map(([key]) => key),
      ),
      all.map(([, value]) => value),
    )
  },
  'deleting by prefix deletes the keys with that prefix, and no others': async (store) => {
    if (!canDeletePrefix(store)) return
    const gone = ['d_/%2A/1', 'd_/%2A/2', 'd_/%2A/']
    const kept = ['d_/%2A', 'dx/%2A/1', 'd_/xx2A/1', 'd_/%2AA/1', 'x/d_/%2A/1', 'D_/%2A/1']
    await store.mset([...gone, ...kept].map((key) => [key, bytes(4)] as const))
    await store.deletePrefix('d_/%2A/')
    await store.deletePrefix('nothing/begins/so/')
    mustEqual(await getValues(store, [...gone, ...kept]), [...gone.map(() => undefined), ...kept.map(() => bytes(4))])
  },
  'of concurrent values under one key the first stays': async (store) => {
    if (!canPutIfAbsent(store)) return
    const mine = bytes(40)
    mustEqual(await store.putIfAbsent('once/a', mine), true)
    mine.fill(0)
    mustEqual(await store.putIfAbsent('once/a', bytes(40, 1)), false)
    mustEqual(await store.putIfAbsent('once/b', new Uint8Array(0)), true)
    mustEqual(await store.putIfAbsent('once/b', bytes(3)), false)
    mustEqual(await getValues(store, ['once/a', 'once/b']), [bytes(40), new Uint8Array(0)])
    for (let round = 0; round < 5; round++) {
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, writer) => store.putIfAbsent(`once/race/${round}`, bytes(4, writer))),
      )
      mustEqual(answers.filter(Boolean).length, 1)
      mustEqual(await getValues(store, [`once/race/${round}`]), [bytes(4, answers.indexOf(true))])
    }
    await store.mset([['once/set', bytes(5)]])
    mustEqual(await store.putIfAbsent('once/set', bytes(6)), false)
  },
  'listing by prefix lists the keys with that prefix, each once, and no others': async (store) => {
    const { keys } = store
    if (keys === undefined) return
    const wanted = Array.from({ length: 120 }, (_, index) => `l_/%2A/${index}`)
    const others = ['l_/%2A', 'lx/%2A/1', 'l_/xx2A/1', 'x/l_/%2A/1', 'L_/%2A/1']
    await store.mset([...wanted, ...others].map((key) => [key, bytes(4)] as const))
    const found: string[] = []
    for await (const key of keys.call(store, 'l_/%2A/')) found.push(key)
    mustEqual(found.toSorted(), wanted.toSorted())
  },
  'write-once values belong to their scope, and are separate from blocks': async (store) => {
    if (!canPutIfAbsent(store)) return
    const [a, b] = ['a', 'a/b'].map((scope) => keyValueBlocks(store, { scope }).once)
    if (a === undefined || b === undefined) throw new Error('a store with putIfAbsent has no once')
    mustEqual(await valueOrThrow(a.put('n/1', bytes(3))), true)
    mustEqual(await valueOrThrow(a.put('n/1', bytes(4))), false)
    mustEqual(await valueOrThrow(b.put('n/1', bytes(5))), true)
    mustEqual(await valueOrThrow(a.get(['n/1', 'n/2'])), [bytes(3), undefined])
    if (a.list !== undefined) mustEqual(await valueOrThrow(a.list('n/')), ['n/1'])
    if (a.remove === undefined) return
    await valueOrThrow(a.remove('n/'))
    mustEqual(await valueOrThrow(a.get(['n/1'])), [undefined])
    mustEqual(await valueOrThrow(b.get(['n/1'])), [bytes(5)])
  },
  'a damaged block is missing until it is put again': async (store) => {
    const blocks = keyValueBlocks(store, { prefix: 'own' })
    const [id] = await valueOrThrow(blocks.putBlocks([bytes(300)]))
    await store.mset([[`own/default/${id}`, bytes(300, 1)]])
    await faultOf('DamagedBlock', blocks.getBlocks([id as BlockId]))
    mustEqual(await valueOrThrow(blocks.hasBlocks([id as BlockId])), [false])
    await valueOrThrow(blocks.putBlocks([bytes(300)]))
    mustEqual(await valueOrThrow(blocks.hasBlocks([id as BlockId])), [true])
    mustEqual(await valueOrThrow(blocks.getBlocks([id as BlockId])), [bytes(300)])
  },
  'scopes have separate blocks': async (store) => {
    const scopes = ['a', 'a/b', 'A', '..', '*', 'ä', 'a%2Fb']
    const blocks = scopes.map((scope) => keyValueBlocks(store, { scope, keysPerCall: 3 }))
    const ids = await valueOrThrow(
      (blocks[0] as BlockStore).putBlocks(Array.from({ length: 10 }, (_, index) => bytes(10, index))),
    )
    for (const [index, of] of blocks.entries())
      mustEqual(
        await valueOrThrow(of.hasBlocks(ids)),
        ids.map(() => index === 0),
      )
    if (!canDeletePrefix(store)) return
    await valueOrThrow((blocks[1] as BlockStore).putBlocks([bytes(10)]))
    await valueOrThrow(removeBlocks(store, { scope: 'a' }))
    mustEqual(
      await valueOrThrow((blocks[0] as BlockStore).hasBlocks(ids)),
      ids.map(() => false),
    )
    mustEqual(await valueOrThrow((blocks[1] as BlockStore).hasBlocks(ids.slice(0, 1))), [true])
  },
}
