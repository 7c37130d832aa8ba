import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { orThrow } from 'indelible'
import { memoryDriver, storeOf, type StoreDriver } from 'indelible/store'
import { faultyDriver, storeContract, type StorePlace } from '@indelible/testing'

const place = async (): Promise<StorePlace> => {
  const driver = memoryDriver()
  const opened = storeOf(driver)
  if (isLeft(opened)) throw new Error('the scope is good')
  const store = opened.right
  const open = async (scope?: string) => {
    if (scope === undefined) return store
    const scoped = store.scoped(scope)
    if (isLeft(scoped)) throw new Error(scope)
    return scoped.right
  }
  return {
    open,
    lasting: false,
    openFaulty: async (faults) => {
      // To close it leaves the memory as it is.
      const faulty = storeOf({ ...faultyDriver(driver, faults), close: async () => {} })
      if (isLeft(faulty)) throw new Error('the scope is good')
      return faulty.right
    },
  }
}

it('a check passes on faults of unreadable rows and asks a driver only for what it supports', async () => {
  const driver = memoryDriver()
  const { erasing } = driver
  if (erasing === undefined) throw new Error('it erases')
  const checkOf = async (change: Partial<StoreDriver>): Promise<unknown> => {
    const store = orThrow(storeOf({ ...driver, ...change }))
    return store.check()()
  }
  await orThrow(storeOf(driver)).create({ id: 'log', encrypt: false })
  const busy = { _tag: 'Busy', waited: 1 } as const
  expect(await checkOf({ erasing: { ...erasing, erased: async () => left(busy) } })).toEqual(left(busy))
  expect(await checkOf({ scopes: async () => left(busy) })).toEqual(left(busy))
  expect(await checkOf({ check: async () => left(busy) })).toEqual(left(busy))
  const { erased: _none, ...rest } = erasing
  for (const change of [{}, { erasing: rest }, { check: async () => right([]) }])
    expect(await checkOf(change)).toEqual(right([]))
  const gone = { erasing: { ...erasing, erased: async () => right([{ id: '', position: 0 }]) } }
  expect(await checkOf(gone)).toEqual(right([])) // a row that no log has
})

for (const { name, run } of storeContract('memory', place)) it(name, run)
