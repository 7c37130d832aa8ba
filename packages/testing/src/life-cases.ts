/** Opening, closing, and what remains stored. */
import { isRight } from 'indelible/internal/json'
import type { BlockId } from 'indelible/internal/proof'
import { verifyLog, type Store } from 'indelible/store'
import { valueOrThrow, faultOf, mustHold, mustEqual } from './check.ts'
import { add, storedRowsOf, entry, headOfRows, storeInScope, listedIds, createLogWith, someRows } from './rows.ts'
import type { StoreCases } from './store-cases.ts'

const everyMethod = (store: Store) => [
  store.create({ id: 'b', encrypt: false }),
  store.info('a'),
  store.list(),
  store.read('a'),
  store.nodes('a', []),
  store.append('a', { expected: headOfRows([], store.hash), rows: [] }),
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
    await createLogWith(store, 'a')
    const other = storeInScope(store, 'other')
    await valueOrThrow(store.close())
    for (const task of everyMethod(store)) await faultOf('Closed', task)
    for (const task of everyMethod(other)) await faultOf('Closed', task)
    await valueOrThrow(store.close())
  },
  'closing the handle of a scope leaves the others open': async (store) => {
    const other = storeInScope(store, 'other')
    await valueOrThrow(other.close())
    await faultOf('Closed', other.list())
    await createLogWith(store, 'a', [entry('x')])
  },
  'calls started before a close finish': async (store, place) => {
    const { head } = await createLogWith(store, 'a')
    const going = store.append('a', { expected: head, rows: [entry('x')] })()
    await valueOrThrow(store.close())
    mustHold(isRight(await going), 'the append succeeded')
    if (!place.lasting) return
    const again = await place.open()
    mustEqual((await valueOrThrow(again.info('a'))).head.size, 1)
  },
  'everything is stored after a reopen': async (store, place) => {
    if (!place.lasting) return
    const rows = someRows(30)
    const { head } = await createLogWith(store, 'a', rows)
    await valueOrThrow(store.update('a', { expected: 1, meta: { title: 'kept' } }))
    const operation = { expected: head, rows: [entry('op')], operation: 'op' }
    const first = await valueOrThrow(store.append('a', operation))
    await valueOrThrow(store.fork('a', { id: 'b', at: 12 }))
    await add(store, 'b', [entry('in the fork')])
    const [block] = (await valueOrThrow(store.putBlocks([Uint8Array.of(0, 255)]))) as [BlockId]
    const before = await valueOrThrow(store.list())
    await valueOrThrow(store.close())

    const again = await place.open()
    mustEqual(await valueOrThrow(again.list()), before)
    mustEqual(await valueOrThrow(again.read('a')), storedRowsOf([...rows, entry('op')]))
    mustEqual(await valueOrThrow(again.read('b')), storedRowsOf([...rows.slice(0, 12), entry('in the fork')]))
    mustEqual(await valueOrThrow(again.getBlocks([block])), [Uint8Array.of(0, 255)])
    mustEqual(await valueOrThrow(again.append('a', operation)), first)
    await faultOf('Conflict', again.append('a', { expected: head, rows: [entry('late')] }))
    await add(again, 'a', [entry('more')])
    mustEqual((await valueOrThrow(again.info('a'))).head, headOfRows([...rows, entry('op'), entry('more')], again.hash))
    for (const id of ['a', 'b']) await valueOrThrow(verifyLog(again, id))
    await valueOrThrow(again.create({ id: 'c', encrypt: false }))
    mustEqual(await listedIds(again), ['c', 'b', 'a'])
  },
}
