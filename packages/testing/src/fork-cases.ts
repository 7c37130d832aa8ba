/** Forks, and the effects of removing logs. */
import { isLeft } from 'indelible/internal/json'
import { verifyLog } from 'indelible/store'
import { valueOrThrow, faultOf, mustEqual } from './check.ts'
import { add, storedRowsOf, entry, headOfRows, listedIds, createLogWith, someRows } from './rows.ts'
import type { StoreCases } from './store-cases.ts'

export const forkCases: StoreCases = {
  'a fork has the head, the rows and the counts that the log had there, at every size': async (store) => {
    const rows = someRows(17)
    await createLogWith(store, 'a', rows)
    for (let at = 0; at <= rows.length; at++) {
      const fork = await valueOrThrow(store.fork('a', { id: `at ${at}`, at, meta: { at } }))
      const shared = rows.slice(0, at)
      mustEqual(
        [fork.id, fork.head, fork.entries, fork.meta, fork.version],
        [`at ${at}`, headOfRows(shared, store.hash), shared.filter((row) => row.kind === 'entry').length, { at }, 1],
      )
      mustEqual(await valueOrThrow(store.read(fork.id)), storedRowsOf(shared))
      await valueOrThrow(verifyLog(store, fork.id))
    }
  },
  'a log and its fork continue separately': async (store) => {
    const rows = someRows(6)
    await createLogWith(store, 'a', rows)
    await valueOrThrow(store.fork('a', { id: 'b', at: 4 }))
    const [inA, inB] = [someRows(3, 'in a'), someRows(5, 'in b')]
    await add(store, 'a', inA)
    await add(store, 'b', inB)
    mustEqual(await valueOrThrow(store.read('a')), storedRowsOf([...rows, ...inA]))
    mustEqual(await valueOrThrow(store.read('b')), storedRowsOf([...rows.slice(0, 4), ...inB]))
    mustEqual((await valueOrThrow(store.info('b'))).head, headOfRows([...rows.slice(0, 4), ...inB], store.hash))
    for (const id of ['a', 'b']) await valueOrThrow(verifyLog(store, id))
  },
  'forks of forks, fifty deep, read and continue like any log': async (store) => {
    const rows = someRows(100)
    await createLogWith(store, '0', rows.slice(0, 2))
    for (let depth = 1; depth < 50; depth++) {
      await valueOrThrow(store.fork(`${depth - 1}`, { id: `${depth}`, at: 2 * depth }))
      await add(store, `${depth}`, rows.slice(2 * depth, 2 * depth + 2))
    }
    mustEqual(await valueOrThrow(store.read('49')), storedRowsOf(rows))
    mustEqual((await valueOrThrow(store.info('49'))).head, headOfRows(rows, store.hash))
    const early = await valueOrThrow(store.fork('49', { id: 'early', at: 3 }))
    mustEqual(early.head, headOfRows(rows.slice(0, 3), store.hash))
    mustEqual(await valueOrThrow(store.read('early')), storedRowsOf(rows.slice(0, 3)))
  },
  'a log can only be forked at a position that it reached': async (store) => {
    const { head } = await createLogWith(store, 'a', someRows(3))
    for (const at of [4, -1, 1.5, NaN, Infinity]) {
      const fault = await faultOf('BeyondEnd', store.fork('a', { id: 'b', at }))
      mustEqual([fault.id, fault.size], ['a', 3])
    }
    mustEqual((await faultOf('LogExists', store.fork('a', { id: 'a', at: 1 }))).id, 'a')
    mustEqual(
      (await valueOrThrow(store.list())).logs.map((log) => [log.id, log.head]),
      [['a', head]],
    )
  },

  'a removed log is gone, and nothing else': async (store) => {
    const rows = someRows(4)
    await createLogWith(store, 'a', rows)
    await createLogWith(store, 'b', rows)
    await valueOrThrow(store.remove('a'))
    await faultOf('NoSuchLog', store.info('a'))
    await faultOf('NoSuchLog', store.read('a'))
    await faultOf('NoSuchLog', store.remove('a'))
    mustEqual(await listedIds(store), ['b'])
    mustEqual(await valueOrThrow(store.read('b')), storedRowsOf(rows))
  },
  'a log that is removed during a read is read completely or missing, never reported as damaged': async (store) => {
    const rows = someRows(7000)
    await createLogWith(store, 'a', rows)
    const reading = store.read('a')()
    await valueOrThrow(store.remove('a'))
    const answer = await reading
    if (isLeft(answer)) mustEqual(answer.left._tag, 'NoSuchLog')
    else
      mustEqual(
        answer.right.map(({ body }) => body),
        rows.map(({ body }) => body),
      )
  },
  'the id of a removed log can be used again, for a log that shares nothing with the old one': async (store) => {
    const { head } = await createLogWith(store, 'a')
    await valueOrThrow(store.append('a', { expected: head, rows: [entry('old')], operation: 'op' }))
    await valueOrThrow(store.update('a', { expected: 1, meta: { old: true } }))
    await valueOrThrow(store.remove('a'))
    const fresh = await createLogWith(store, 'a')
    mustEqual([fresh.head, fresh.version, fresh.meta], [headOfRows([], store.hash), 1, {}])
    mustEqual(
      (await valueOrThrow(store.append('a', { expected: fresh.head, rows: [entry('new')], operation: 'op' }))).from,
      0,
    )
    mustEqual(await valueOrThrow(store.read('a')), storedRowsOf([entry('new')]))
  },
  'a fork outlives its parent log': async (store) => {
    const rows = someRows(8)
    await createLogWith(store, 'a', rows)
    await valueOrThrow(store.fork('a', { id: 'b', at: 5 }))
    await valueOrThrow(store.fork('a', { id: 'c', at: 3 }))
    await valueOrThrow(store.remove('a'))
    mustEqual(await valueOrThrow(store.read('b')), storedRowsOf(rows.slice(0, 5)))
    await valueOrThrow(store.remove('b'))
    mustEqual(await valueOrThrow(store.read('c')), storedRowsOf(rows.slice(0, 3)))
    await add(store, 'c', rows.slice(3))
    mustEqual(await valueOrThrow(store.read('c')), storedRowsOf(rows))
    await createLogWith(store, 'a', [entry('again')])
    await valueOrThrow(verifyLog(store, 'c'))
    mustEqual(await valueOrThrow(store.read('c')), storedRowsOf(rows))
  },
  'a log outlives its forks': async (store) => {
    const rows = someRows(8)
    await createLogWith(store, 'a', rows)
    await valueOrThrow(store.fork('a', { id: 'b', at: 5 }))
    await valueOrThrow(store.fork('b', { id: 'c', at: 5 }))
    await valueOrThrow(store.remove('b'))
    mustEqual(await valueOrThrow(store.read('c')), storedRowsOf(rows.slice(0, 5)))
    await valueOrThrow(store.remove('c'))
    mustEqual(await valueOrThrow(store.read('a')), storedRowsOf(rows))
    await valueOrThrow(verifyLog(store, 'a'))
  },
  'a chain of forks outlives the removal of everything in its middle': async (store) => {
    const rows = someRows(12)
    await createLogWith(store, 'a', rows.slice(0, 4))
    await valueOrThrow(store.fork('a', { id: 'b', at: 3 }))
    await add(store, 'b', rows.slice(3, 8))
    await valueOrThrow(store.fork('b', { id: 'c', at: 7 }))
    await add(store, 'c', rows.slice(7, 10))
    await valueOrThrow(store.fork('c', { id: 'd', at: 2 }))
    for (const id of ['b', 'a']) await valueOrThrow(store.remove(id))
    mustEqual(await valueOrThrow(store.read('c')), storedRowsOf(rows.slice(0, 10)))
    mustEqual(await valueOrThrow(store.read('d')), storedRowsOf(rows.slice(0, 2)))
    await valueOrThrow(store.remove('c'))
    await add(store, 'd', rows.slice(2))
    mustEqual(await valueOrThrow(store.read('d')), storedRowsOf(rows))
    await valueOrThrow(verifyLog(store, 'd'))
  },
}
