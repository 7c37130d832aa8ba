/**
 * The suite that every store must pass.
 *
 * It is plain functions that throw, so it runs in any test runner and in a browser.
 *
 * @example
 * for (const { name, run } of storeContract('memory', async () => {
 *   const store = memoryStore()
 *   return { lasting: false, open: async (scope) => (scope === undefined ? store : scopedTo(store, scope)) }
 * }))
 *   it(name, run)
 */
import type { Store } from '../store/index.ts'
import { appendCases } from './append-cases.ts'
import { spokenCases } from './spoken-cases.ts'
import { blockCases } from './block-contract.ts'
import type { ContractCase } from './check.ts'
import { forkCases } from './fork-cases.ts'
import { idCases } from './id-cases.ts'
import { lifeCases } from './life-cases.ts'
import { listCases } from './list-cases.ts'
import type { StorePlace } from './place.ts'
import { readCases } from './read-cases.ts'

/** A case as it is written: it gets a store on an empty place, and the place. */
export type StoreCase = (store: Store, place: StorePlace) => Promise<void>

export type StoreCases = Readonly<Record<string, StoreCase>>

/**
 * The cases of the suite. Each makes a place of its own, so they may run side by side.
 *
 * `makePlace` is asked once without a case, to learn what the place can do.
 */
export const storeContract = (name: string, makePlace: () => Promise<StorePlace>): readonly ContractCase[] =>
  Object.entries({ ...appendCases, ...readCases, ...listCases, ...forkCases, ...blockCases, ...spokenCases, ...idCases, ...lifeCases }).map(([title, work]) => ({
    name: `${name}: ${title}`,
    run: async () => {
      const place = await makePlace()
      const store = await place.open()
      try {
        await work(store, place)
      } finally {
        await store.close()()
        await place.leave?.()
      }
    },
  }))
