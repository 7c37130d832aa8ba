/** Reading ranges. */
import type { RowRange } from 'indelible/store'
import { valueOrThrow, mustEqual } from './check.ts'
import { storedRowsOf, entry, createLogWith, note, someRows } from './rows.ts'
import type { StoreCases } from './store-cases.ts'

const bounds = [undefined, 0, 1, 3, 9, 10, 11, -1, -4, -10, -11, Infinity, -Infinity]

export const readCases: StoreCases = {
  'a range equals the result of slice': async (store) => {
    const stored = storedRowsOf(someRows(10))
    await createLogWith(store, 'a', someRows(10))
    for (const from of bounds)
      for (const to of bounds)
        mustEqual(await valueOrThrow(store.read('a', range(from, to))), stored.slice(from, to), `from ${from} to ${to}`)
  },
  'a range of one kind counts only rows of that kind': async (store) => {
    const rows = [note('first'), ...someRows(12), note('n'), note('n'), entry('last')]
    await createLogWith(store, 'a', rows)
    for (const only of ['entry', 'note'] as const) {
      const stored = storedRowsOf(rows).filter((row) => row.kind === only)
      for (const from of bounds)
        for (const to of bounds)
          mustEqual(
            await valueOrThrow(store.read('a', { ...range(from, to), only })),
            stored.slice(from, to),
            `${only} from ${from} to ${to}`,
          )
    }
  },
  'a range of a missing kind is empty': async (store) => {
    await createLogWith(store, 'a', [entry('x')])
    mustEqual(await valueOrThrow(store.read('a', { only: 'note' })), [])
    await createLogWith(store, 'b', [note('x')])
    mustEqual(await valueOrThrow(store.read('b', { from: -5, only: 'entry' })), [])
  },
  'ranges run through forks': async (store) => {
    const rows = someRows(20)
    await createLogWith(store, 'a', rows.slice(0, 8))
    const fork = await valueOrThrow(store.fork('a', { id: 'b', at: 6 }))
    await valueOrThrow(store.append('b', { expected: fork.head, rows: rows.slice(6, 13) }))
    const again = await valueOrThrow(store.fork('b', { id: 'c', at: 10 }))
    await valueOrThrow(store.append('c', { expected: again.head, rows: rows.slice(10) }))
    const stored = storedRowsOf(rows)
    for (const from of [0, 3, 6, 7, 10, 15, -12])
      for (const to of [5, 6, 8, 10, 11, 20]) {
        mustEqual(await valueOrThrow(store.read('c', { from, to })), stored.slice(from, to))
        for (const only of ['entry', 'note'] as const)
          mustEqual(
            await valueOrThrow(store.read('c', { from, to, only })),
            stored.filter((row) => row.kind === only).slice(from, to),
          )
      }
  },
}

const range = (from: number | undefined, to: number | undefined): RowRange => ({
  ...(from === undefined ? {} : { from }),
  ...(to === undefined ? {} : { to }),
})
