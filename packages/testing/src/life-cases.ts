/** Opening, closing, and what remains stored. */
import { isRight } from 'indelible/json/kit'
import type { BlockId } from 'indelible/proof/kit'
import { verifyLog, type Store } from 'indelible/store'
import { valueOrThrow, faulty, holds, same } from './check.ts'
import { add, asStored, entry, headFor, inScope, listedIds, logWith, someRows } from './rows.ts'
import type { StoreCases } from './store-cases.ts'

const everyMethod = (store: Store) => [
  store.create({ id: 'b', encrypt: false }),
  store.info('a'),
  store.list(),
  store.read('a'),
  store.nodes('a', []),
  store.append('a', { expected: headFor([], store.hash), rows: [] }),
  store.update('a', { expected: 1, meta: {} }),
  store.fork('a', { id: 'b', at: 0 }),
  store.remove('a'),
  store.putBlocks([]),
  store.getBlocks([]),
  store.hasBlocks([]),
  store.watch('a', () => {}),
  store.lease('a', { holder: 'h', ttl: 1000 }),
  store.renew('a', { number: 1, ttl: 1000 }),
  store.release('a', 1),
  store.requestStop('a'),
  store.leaseOf('a'),
  store.erase({ logs: [] }),
  store.sharing('a'),
  store.containing(['x']),
]

export const lifeCases: StoreCases = {
  'a closed store reports so for every call, and can be closed again': async (store) => {
    await logWith(store, 'a')
    const other = inScope(store, 'other')
    await valueOrThrow(store.close())
    for (const task of everyMethod(store)) await faulty('Closed', task)
    for (const task of everyMethod(other)) await faulty('Closed', task)
    await valueOrThrow(store.close())
  },
  'closing the handle of a scope leaves the others open': async (store) => {
    const other = inScope(store, 'other')
    await valueOrThrow(other.close())
    await faulty('Closed', other.list())
    await logWith(store, 'a', [entry('x')])
  },
  'calls started before a close finish': async (store, place) => {
    const { head } = await logWith(store, 'a')
    const going = store.append('a', { expected: head, rows: [entry('x')] })()
    await valueOrThrow(store.close())
    holds(isRight(await going), 'the append succeeded')
    if (!place.lasting) return
    const again = await place.open()
    same((await valueOrThrow(again.info('a'))).head.size, 1)
    await valueOrThrow(again.close())
  },
  'everything is stored after a reopen': async (store, place) => {
    if (!place.lasting) return
    const rows = someRows(30)
    const { head } = await logWith(store, 'a', rows)
    await valueOrThrow(store.update('a', { expected: 1, meta: { title: 'kept' } }))
    const operation = { expected: head, rows: [entry('op')], operation: 'op' }
    const first = await valueOrThrow(store.append('a', operation))
    await valueOrThrow(store.fork('a', { id: 'b', at: 12 }))
    await add(store, 'b', [entry('in the fork')])
    const [block] = (await valueOrThrow(store.putBlocks([Uint8Array.of(0, 255)]))) as [BlockId]
    const before = await valueOrThrow(store.list())
    await valueOrThrow(store.close())

    const again = await place.open()
    same(await valueOrThrow(again.list()), before)
    same(await valueOrThrow(again.read('a')), asStored([...rows, entry('op')]))
    same(await valueOrThrow(again.read('b')), asStored([...rows.slice(0, 12), entry('in the fork')]))
    same(await valueOrThrow(again.getBlocks([block])), [Uint8Array.of(0, 255)])
    same(await valueOrThrow(again.append('a', operation)), first)
    await faulty('Conflict', again.append('a', { expected: head, rows: [entry('late')] }))
    await add(again, 'a', [entry('more')])
    same((await valueOrThrow(again.info('a'))).head, headFor([...rows, entry('op'), entry('more')], again.hash))
    for (const id of ['a', 'b']) await valueOrThrow(verifyLog(again, id))
    await valueOrThrow(again.create({ id: 'c', encrypt: false }))
    same(await listedIds(again), ['c', 'b', 'a'])
    await valueOrThrow(again.close())
  },
}
