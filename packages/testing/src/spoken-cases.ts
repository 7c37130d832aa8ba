/** Blocks and logs are shared, and kept as long as they are referenced. */
import { blockIdOf, type BlockId } from 'indelible/internal/proof'
import type { TimedRow } from 'indelible/internal/store'
import { bytes, notBlockIds } from './block-contract.ts'
import { valueOrThrow, faultOf, mustEqual } from './check.ts'
import { add, storedRowsOf, entry, createLogWith } from './rows.ts'
import type { StoreCases } from './store-cases.ts'

const rowWithBlocks = (body: string, ...blocks: BlockId[]): TimedRow => ({ ...entry(body), blocks })

export const spokenCases: StoreCases = {
  'a row cannot reference an invalid block id': async (store) => {
    const good = blockIdOf(bytes(1), store.hash)
    for (const id of notBlockIds(good))
      mustEqual(
        (
          await faultOf(
            'InvalidId',
            store.append('a', { expected: { size: 0, root: '' }, rows: [rowWithBlocks('x', id as BlockId)] }),
          )
        ).what,
        'block',
      )
  },
  'blocks are stored together with the rows that reference them, or not at all': async (store) => {
    const { head } = await createLogWith(store, 'a')
    const block = bytes(50)
    const id = blockIdOf(block, store.hash)
    const append = { expected: head, rows: [entry('x'), rowWithBlocks('y', id, id)], blocks: [block, block] }
    await faultOf('Diverged', store.append('a', { ...append, expected: { size: 5, root: head.root } }))
    mustEqual(await valueOrThrow(store.hasBlocks([id])), [false])
    await valueOrThrow(store.append('a', append))
    mustEqual(await valueOrThrow(store.getBlocks([id])), [block])
    mustEqual(await valueOrThrow(store.read('a')), storedRowsOf(append.rows))
  },
  'a stored block can be passed again, by one log after another and by several at once': async (store) => {
    const block = bytes(70)
    const id = blockIdOf(block, store.hash)
    const input = { rows: [rowWithBlocks('x', id)], blocks: [block] }
    for (const name of ['a', 'b', 'c', 'd']) await createLogWith(store, name)
    await add(store, 'a', input.rows, { blocks: input.blocks })
    await Promise.all(['b', 'c', 'd'].map((name) => add(store, name, input.rows, { blocks: input.blocks })))
    for (const name of ['a', 'b', 'c', 'd']) mustEqual(await valueOrThrow(store.read(name)), storedRowsOf(input.rows))
    mustEqual(await valueOrThrow(store.getBlocks([id])), [block])
  },
  'a row can reference a stored block, but not a missing one': async (store) => {
    const { head } = await createLogWith(store, 'a')
    const [there] = (await valueOrThrow(store.putBlocks([bytes(5)]))) as [BlockId]
    const missing = blockIdOf(bytes(6), store.hash)
    mustEqual(
      (
        await faultOf(
          'MissingBlock',
          store.append('a', { expected: head, rows: [rowWithBlocks('x', there), rowWithBlocks('y', missing)] }),
        )
      ).ids,
      [missing],
    )
    mustEqual((await valueOrThrow(store.info('a'))).head, head)
    await valueOrThrow(store.append('a', { expected: head, rows: [rowWithBlocks('x', there)] }))
  },
  'a block that no row references is refused': async (store) => {
    const { head } = await createLogWith(store, 'a')
    const fault = await faultOf(
      'UnusedBlock',
      store.append('a', { expected: head, rows: [entry('x')], blocks: [bytes(5)] }),
    )
    mustEqual(fault.ids, [blockIdOf(bytes(5), store.hash)])
    mustEqual((await valueOrThrow(store.info('a'))).head, head)
  },
  'removing a log removes the blocks that no other row references': async (store) => {
    const blocks = [bytes(20, 1), bytes(20, 2), bytes(20, 3)]
    const [own, shared, kept] = blocks.map((block) => blockIdOf(block, store.hash)) as [BlockId, BlockId, BlockId]
    for (const id of ['a', 'b']) await createLogWith(store, id)
    await add(store, 'a', [rowWithBlocks('x', own, shared), rowWithBlocks('y', kept)], { blocks })
    await add(store, 'b', [rowWithBlocks('z', shared)])
    await valueOrThrow(store.putBlocks([blocks[2] as Uint8Array]))
    await valueOrThrow(store.remove('a'))
    mustEqual(await valueOrThrow(store.hasBlocks([own, shared, kept])), [false, true, true])
    mustEqual(await valueOrThrow(store.getBlocks([shared])), [blocks[1]])
    await valueOrThrow(store.remove('b'))
    mustEqual(await valueOrThrow(store.hasBlocks([own, shared, kept])), [false, false, true])
  },
  'blocks of rows that a fork shares stay with the fork': async (store) => {
    const [early, late] = [bytes(20, 1), bytes(20, 2)]
    const [idEarly, idLate] = [blockIdOf(early, store.hash), blockIdOf(late, store.hash)]
    await createLogWith(store, 'a')
    await add(store, 'a', [rowWithBlocks('early', idEarly)], { blocks: [early] })
    await add(store, 'a', [rowWithBlocks('late', idLate)], { blocks: [late] })
    await valueOrThrow(store.fork('a', { id: 'b', at: 1 }))
    await valueOrThrow(store.remove('a'))
    mustEqual(await valueOrThrow(store.hasBlocks([idEarly, idLate])), [true, false])
    mustEqual(await valueOrThrow(store.getBlocks([idEarly])), [early])
    await valueOrThrow(store.remove('b'))
    mustEqual(await valueOrThrow(store.hasBlocks([idEarly])), [false])
  },
}
