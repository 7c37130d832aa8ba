/** Forks, and the effects of removing logs. */
import { isLeft } from 'indelible/json/kit'
import { verifyLog } from 'indelible/store'
import { valueOrThrow, faulty, same } from './check.ts'
import { add, asStored, entry, headFor, listedIds, logWith, someRows } from './rows.ts'
import type { StoreCases } from './store-cases.ts'

export const forkCases: StoreCases = {
  'a fork has the head, the rows and the counts that the log had there, at every size': async (store) => {
    const rows = someRows(17)
    await logWith(store, 'a', rows)
    for (let at = 0; at <= rows.length; at++) {
      const fork = await valueOrThrow(store.fork('a', { id: `at ${at}`, at, meta: { at } }))
      const shared = rows.slice(0, at)
      same(
        [fork.id, fork.head, fork.entries, fork.meta, fork.version],
        [`at ${at}`, headFor(shared, store.hash), shared.filter((row) => row.kind === 'entry').length, { at }, 1],
      )
      same(await valueOrThrow(store.read(fork.id)), asStored(shared))
      await valueOrThrow(verifyLog(store, fork.id))
    }
  },
  'a log and its fork continue separately': async (store) => {
    const rows = someRows(6)
    await logWith(store, 'a', rows)
    await valueOrThrow(store.fork('a', { id: 'b', at: 4 }))
    const [inA, inB] = [someRows(3, 'in a'), someRows(5, 'in b')]
    await add(store, 'a', inA)
    await add(store, 'b', inB)
    same(await valueOrThrow(store.read('a')), asStored([...rows, ...inA]))
    same(await valueOrThrow(store.read('b')), asStored([...rows.slice(0, 4), ...inB]))
    same((await valueOrThrow(store.info('b'))).head, headFor([...rows.slice(0, 4), ...inB], store.hash))
    for (const id of ['a', 'b']) await valueOrThrow(verifyLog(store, id))
  },
  'forks of forks, fifty deep, read and continue like any log': async (store) => {
    const rows = someRows(100)
    await logWith(store, '0', rows.slice(0, 2))
    for (let depth = 1; depth < 50; depth++) {
      await valueOrThrow(store.fork(`${depth - 1}`, { id: `${depth}`, at: 2 * depth }))
      await add(store, `${depth}`, rows.slice(2 * depth, 2 * depth + 2))
    }
    same(await valueOrThrow(store.read('49')), asStored(rows))
    same((await valueOrThrow(store.info('49'))).head, headFor(rows, store.hash))
    const early = await valueOrThrow(store.fork('49', { id: 'early', at: 3 }))
    same(early.head, headFor(rows.slice(0, 3), store.hash))
    same(await valueOrThrow(store.read('early')), asStored(rows.slice(0, 3)))
  },
  'a log can only be forked at a position that it reached': async (store) => {
    const { head } = await logWith(store, 'a', someRows(3))
    for (const at of [4, -1, 1.5, NaN, Infinity]) {
      const fault = await faulty('BeyondEnd', store.fork('a', { id: 'b', at }))
      same([fault.id, fault.size], ['a', 3])
    }
    same((await faulty('LogExists', store.fork('a', { id: 'a', at: 1 }))).id, 'a')
    same(
      (await valueOrThrow(store.list())).logs.map((log) => [log.id, log.head]),
      [['a', head]],
    )
  },

  'a removed log is gone, and nothing else': async (store) => {
    const rows = someRows(4)
    await logWith(store, 'a', rows)
    await logWith(store, 'b', rows)
    await valueOrThrow(store.remove('a'))
    await faulty('NoSuchLog', store.info('a'))
    await faulty('NoSuchLog', store.read('a'))
    await faulty('NoSuchLog', store.remove('a'))
    same(await listedIds(store), ['b'])
    same(await valueOrThrow(store.read('b')), asStored(rows))
  },
  'a log that is removed during a read is read completely or missing, never reported as damaged': async (store) => {
    const rows = someRows(7000)
    await logWith(store, 'a', rows)
    const reading = store.read('a')()
    await valueOrThrow(store.remove('a'))
    const answer = await reading
    if (isLeft(answer)) same(answer.left._tag, 'NoSuchLog')
    else
      same(
        answer.right.map(({ body }) => body),
        rows.map(({ body }) => body),
      )
  },
  'the id of a removed log can be used again, for a log that shares nothing with the old one': async (store) => {
    const { head } = await logWith(store, 'a')
    await valueOrThrow(store.append('a', { expected: head, rows: [entry('old')], operation: 'op' }))
    await valueOrThrow(store.update('a', { expected: 1, meta: { old: true } }))
    await valueOrThrow(store.remove('a'))
    const fresh = await logWith(store, 'a')
    same([fresh.head, fresh.version, fresh.meta], [headFor([], store.hash), 1, {}])
    same(
      (await valueOrThrow(store.append('a', { expected: fresh.head, rows: [entry('new')], operation: 'op' }))).from,
      0,
    )
    same(await valueOrThrow(store.read('a')), asStored([entry('new')]))
  },
  'a fork outlives its parent log': async (store) => {
    const rows = someRows(8)
    await logWith(store, 'a', rows)
    await valueOrThrow(store.fork('a', { id: 'b', at: 5 }))
    await valueOrThrow(store.fork('a', { id: 'c', at: 3 }))
    await valueOrThrow(store.remove('a'))
    same(await valueOrThrow(store.read('b')), asStored(rows.slice(0, 5)))
    await valueOrThrow(store.remove('b'))
    same(await valueOrThrow(store.read('c')), asStored(rows.slice(0, 3)))
    await add(store, 'c', rows.slice(3))
    same(await valueOrThrow(store.read('c')), asStored(rows))
    await logWith(store, 'a', [entry('again')])
    await valueOrThrow(verifyLog(store, 'c'))
    same(await valueOrThrow(store.read('c')), asStored(rows))
  },
  'a log outlives its forks': async (store) => {
    const rows = someRows(8)
    await logWith(store, 'a', rows)
    await valueOrThrow(store.fork('a', { id: 'b', at: 5 }))
    await valueOrThrow(store.fork('b', { id: 'c', at: 5 }))
    await valueOrThrow(store.remove('b'))
    same(await valueOrThrow(store.read('c')), asStored(rows.slice(0, 5)))
    await valueOrThrow(store.remove('c'))
    same(await valueOrThrow(store.read('a')), asStored(rows))
    await valueOrThrow(verifyLog(store, 'a'))
  },
  'a chain of forks outlives the removal of everything in its middle': async (store) => {
    const rows = someRows(12)
    await logWith(store, 'a', rows.slice(0, 4))
    await valueOrThrow(store.fork('a', { id: 'b', at: 3 }))
    await add(store, 'b', rows.slice(3, 8))
    await valueOrThrow(store.fork('b', { id: 'c', at: 7 }))
    await add(store, 'c', rows.slice(7, 10))
    await valueOrThrow(store.fork('c', { id: 'd', at: 2 }))
    for (const id of ['b', 'a']) await valueOrThrow(store.remove(id))
    same(await valueOrThrow(store.read('c')), asStored(rows.slice(0, 10)))
    same(await valueOrThrow(store.read('d')), asStored(rows.slice(0, 2)))
    await valueOrThrow(store.remove('c'))
    await add(store, 'd', rows.slice(2))
    same(await valueOrThrow(store.read('d')), asStored(rows))
    await valueOrThrow(verifyLog(store, 'd'))
  },
}
