/** Blocks: bytes under their digest, shared, and kept as long as somebody speaks of them. */
import type { BlockId } from '../message/index.ts'
import { blockIdOf, type Row } from '../store/index.ts'
import { done, faulty, holds, same } from './check.ts'
import { add, asStored, entry, logWith } from './rows.ts'
import type { StoreCases } from './store-contract.ts'

const bytes = (length: number, seed = 0): Uint8Array => Uint8Array.from({ length }, (_, index) => (index * 31 + seed * 7 + (index >> 8)) & 255)

const speaking = (body: string, ...blocks: BlockId[]): Row => ({ kind: 'entry', body, blocks })

export const blockCases: StoreCases = {
  'a block comes back byte for byte, under its SHA-256': async (store) => {
    const blocks = [new Uint8Array(0), Uint8Array.from({ length: 256 }, (_, index) => index), bytes(3_000_000), Uint8Array.of(0), Uint8Array.of(0, 0)]
    const ids = await done(store.putBlocks(blocks))
    same(ids, blocks.map((block) => blockIdOf(block, store.hash)))
    same(ids[0], 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
    const found = await done(store.getBlocks(ids))
    same(found, blocks)
    holds(found.every((block) => block !== undefined && Object.getPrototypeOf(block) === Uint8Array.prototype), 'they are plain byte arrays')
  },
  'order is kept, ids may repeat, and what is missing is undefined': async (store) => {
    const [a, b] = [bytes(10, 1), bytes(10, 2)]
    const [idA, idB] = (await done(store.putBlocks([a, b, a]))) as [BlockId, BlockId]
    const missing = blockIdOf(bytes(10, 3), store.hash)
    same(await done(store.getBlocks([idB, missing, idA, idB])), [b, undefined, a, b])
    same(await done(store.hasBlocks([idB, missing, idA, idB])), [true, false, true, true])
  },
  'any number of ids in one batch': async (store) => {
    for (const count of [0, 1, 2, 999, 10_000]) {
      const blocks = Array.from({ length: count }, (_, index) => bytes(9, index % 250).map((byte, at) => (at < 4 ? (index >> (8 * at)) & 255 : byte)))
      const ids = await done(store.putBlocks(blocks))
      same([ids.length, new Set(ids).size], [count, count])
      same(await done(store.getBlocks(ids)), blocks)
      same(await done(store.hasBlocks(ids)), ids.map(() => true))
    }
  },
  'the bytes that were given and those that were got are the caller\'s own': async (store) => {
    const mine = bytes(100)
    const before = mine.slice()
    const going = store.putBlocks([mine])()
    mine.fill(0)
    await going
    const id = blockIdOf(before, store.hash)
    const [got] = await done(store.getBlocks([id]))
    got?.fill(1)
    same(await done(store.getBlocks([id])), [before])
  },
  'what is no block id is refused': async (store) => {
    const good = blockIdOf(bytes(1), store.hash)
    for (const id of ['', 'x', good.toUpperCase(), `${good}0`, good.slice(1), `${good.slice(1)}\0`, "' or 1=1 --", '__proto__', null, 7]) {
      for (const task of [store.getBlocks([good, id as BlockId]), store.hasBlocks([id as BlockId]), store.append('a', { expected: { size: 0, root: '' }, rows: [speaking('x', id as BlockId)] })])
        same((await faulty('InvalidId', task)).what, 'block')
    }
  },
  'blocks are stored with the rows that speak of them, or not at all': async (store) => {
    const { head } = await logWith(store, 'a')
    const block = bytes(50)
    const id = blockIdOf(block, store.hash)
    const append = { expected: head, rows: [entry('x'), speaking('y', id, id)], blocks: [block, block] }
    await faulty('Diverged', store.append('a', { ...append, expected: { size: 5, root: head.root } }))
    same(await done(store.hasBlocks([id])), [false])
    await done(store.append('a', append))
    same(await done(store.getBlocks([id])), [block])
    same(await done(store.read('a')), asStored(append.rows))
  },
  'a row can speak of a block that is there already, not of one that is not': async (store) => {
    const { head } = await logWith(store, 'a')
    const [there] = (await done(store.putBlocks([bytes(5)]))) as [BlockId]
    const missing = blockIdOf(bytes(6), store.hash)
    same((await faulty('MissingBlock', store.append('a', { expected: head, rows: [speaking('x', there), speaking('y', missing)] }))).ids, [missing])
    same((await done(store.info('a'))).head, head)
    await done(store.append('a', { expected: head, rows: [speaking('x', there)] }))
  },
  'a block that no row speaks of is not appended in silence': async (store) => {
    const { head } = await logWith(store, 'a')
    const fault = await faulty('UnusedBlock', store.append('a', { expected: head, rows: [entry('x')], blocks: [bytes(5)] }))
    same(fault.ids, [blockIdOf(bytes(5), store.hash)])
    same((await done(store.info('a'))).head, head)
  },
  'a removed log takes the blocks along that nobody else speaks of': async (store) => {
    const blocks = [bytes(20, 1), bytes(20, 2), bytes(20, 3)]
    const [own, shared, kept] = blocks.map((block) => blockIdOf(block, store.hash)) as [BlockId, BlockId, BlockId]
    for (const id of ['a', 'b']) await logWith(store, id)
    await add(store, 'a', [speaking('x', own, shared), speaking('y', kept)], { blocks })
    await add(store, 'b', [speaking('z', shared)])
    await done(store.putBlocks([blocks[2] as Uint8Array]))
    await done(store.remove('a'))
    same(await done(store.hasBlocks([own, shared, kept])), [false, true, true])
    same(await done(store.getBlocks([shared])), [blocks[1]])
    await done(store.remove('b'))
    same(await done(store.hasBlocks([own, shared, kept])), [false, false, true])
  },
  'blocks of rows that a fork shares stay with the fork': async (store) => {
    const [early, late] = [bytes(20, 1), bytes(20, 2)]
    const [idEarly, idLate] = [blockIdOf(early, store.hash), blockIdOf(late, store.hash)]
    await logWith(store, 'a')
    await add(store, 'a', [speaking('early', idEarly)], { blocks: [early] })
    await add(store, 'a', [speaking('late', idLate)], { blocks: [late] })
    await done(store.fork('a', { id: 'b', at: 1 }))
    await done(store.remove('a'))
    same(await done(store.hasBlocks([idEarly, idLate])), [true, false])
    same(await done(store.getBlocks([idEarly])), [early])
    await done(store.remove('b'))
    same(await done(store.hasBlocks([idEarly])), [false])
  },
}
