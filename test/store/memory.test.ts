import { isLeft } from 'fp-ts/lib/Either.js'
import { it } from 'vitest'
import { memoryDriver, storeOf } from 'indelible/store'
import { faultyDriver, storeContract, type StorePlace } from 'indelible/testing'

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

for (const { name, run } of storeContract('memory', place)) it(name, run)
