/** The suite that every block store must pass: the part of a store below its logs. */
import { blockIdOf, type BlockId } from 'indelible/internal/proof'
import { type BlockStore } from 'indelible/store'
import { valueOrThrow, faultOf, mustHold, mustEqual, changeEverything, type ContractCase } from './check.ts'

/** The place of a suite: a block store that is empty at first. */
export interface BlockPlace {
  /** The block store to test, empty at first. */
  readonly store: BlockStore
  /** Clean up. */
  readonly leave?: () => Promise<void>
}

/**
 * The suite for block stores. Each case creates its own place, so cases may run in parallel.
 *
 * @param name the name of the adapter, for case names
 * @param makePlace creates an empty place
 */
export const blockContract = (name: string, makePlace: () => Promise<BlockPlace>): readonly ContractCase[] =>
  casesOn(name, blockCases, makePlace)

/** Runs each case on its own store, which is cleaned up afterwards. */
export const casesOn = <S>(
  name: string,
  cases: { readonly [title: string]: (store: S) => Promise<void> },
  makePlace: () => Promise<{ readonly store: S; readonly leave?: () => Promise<void> }>,
): readonly ContractCase[] =>
  Object.entries(cases).map(([title, work]) => ({
    name: `${name}: ${title}`,
    run: async () => {
      const place = await makePlace()
      try {
        await work(place.store)
      } finally {
        await place.leave?.()
      }
    },
  }))

/** Bytes that differ from seed to seed. */
export const bytes = (length: number, seed = 0): Uint8Array => {
  const made = new Uint8Array(length)
  for (let index = 0; index < length; index++) made[index] = index * 31 + seed * 7 + (index >> 8)
  return made
}

export const notBlockIds = (good: BlockId): readonly unknown[] => [
  '',
  'x',
  good.toUpperCase(),
  `${good}0`,
  good.slice(1),
  `${good.slice(1)}\0`,
  "' or 1=1 --",
  '__proto__',
  null,
  7,
]

export const blockCases: Readonly<Record<string, (store: BlockStore) => Promise<void>>> = {
  'a block comes back byte for byte, under its SHA-256': async (store) => {
    const blocks = [
      new Uint8Array(0),
      Uint8Array.from({ length: 256 }, (_, index) => index),
      bytes(3_000_000),
      Uint8Array.of(0),
      Uint8Array.of(0, 0),
    ]
    const ids = await valueOrThrow(store.putBlocks(blocks))
    mustEqual(
      ids,
      blocks.map((block) => blockIdOf(block, store.hash)),
    )
    mustEqual(ids[0], 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
    const found = await valueOrThrow(store.getBlocks(ids))
    mustEqual(found, blocks)
    mustHold(
      found.every((block) => block !== undefined && Object.getPrototypeOf(block) === Uint8Array.prototype),
      'they are plain byte arrays',
    )
  },
  'changing an argument directly after the call has no effect': async (store) => {
    const blocks = [bytes(100), bytes(5000, 1)]
    const expected = blocks.map((block) => blockIdOf(block, store.hash))
    const copies = [...blocks.map((block) => block.slice())]
    const putting = store.putBlocks(copies)
    changeEverything(copies)
    mustEqual(await valueOrThrow(putting), expected)
    const ids = [...expected]
    const reading = store.getBlocks(ids)
    changeEverything(ids)
    mustEqual(await valueOrThrow(reading), blocks)
    const wanted = [...expected]
    const looking = store.hasBlocks(wanted)
    changeEverything(wanted)
    mustEqual(await valueOrThrow(looking), [true, true])
  },
  'order is kept, ids may repeat, and a missing block is undefined': async (store) => {
    const [a, b] = [bytes(10, 1), bytes(10, 2)]
    const [idA, idB] = (await valueOrThrow(store.putBlocks([a, b, a]))) as [BlockId, BlockId]
    const missing = blockIdOf(bytes(10, 3), store.hash)
    mustEqual(await valueOrThrow(store.getBlocks([idB, missing, idA, idB])), [b, undefined, a, b])
    mustEqual(await valueOrThrow(store.hasBlocks([idB, missing, idA, idB])), [true, false, true, true])
  },
  'a batch can have any number of ids': async (store) => {
    for (const count of [0, 1, 2, 999, 4000]) {
      const blocks = Array.from({ length: count }, (_, index) =>
        bytes(9, index % 250).map((byte, at) => (at < 4 ? (index >> (8 * at)) & 255 : byte)),
      )
      const ids = await valueOrThrow(store.putBlocks(blocks))
      mustEqual([ids.length, new Set(ids).size], [count, count])
      mustEqual(await valueOrThrow(store.getBlocks(ids)), blocks)
      mustEqual(
        await valueOrThrow(store.hasBlocks(ids)),
        ids.map(() => true),
      )
    }
  },
  'the bytes passed in and the bytes returned belong to the caller': async (store) => {
    const mine = bytes(100)
    const before = mine.slice()
    const going = store.putBlocks([mine])()
    mine.fill(0)
    await going
    const id = blockIdOf(before, store.hash)
    const [got] = await valueOrThrow(store.getBlocks([id]))
    got?.fill(1)
    mustEqual(await valueOrThrow(store.getBlocks([id])), [before])
  },
  'an invalid block id is not looked up': async (store) => {
    const good = blockIdOf(bytes(1), store.hash)
    for (const id of notBlockIds(good))
      for (const call of ['getBlocks', 'hasBlocks'] as const)
        mustEqual((await faultOf('InvalidId', store[call]([good, id as BlockId]))).what, 'block')
  },
}
