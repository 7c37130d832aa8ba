import { isLeft } from 'fp-ts/lib/Either.js'
import { it } from 'vitest'
import { memoryStore } from 'indelible/store'
import { storeContract, type StorePlace } from 'indelible/testing'

const place = async (): Promise<StorePlace> => {
  const store = memoryStore()
  const open = async (scope?: string) => {
    if (scope === undefined) return store
    const scoped = store.scoped(scope)
    if (isLeft(scoped)) throw new Error(scope)
    return scoped.right
  }
  return { open, lasting: false }
}

for (const { name, run } of storeContract('memory', place)) it(name, run)
