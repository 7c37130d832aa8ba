/**
 * The suite that every store must pass.
 *
 * It consists of plain functions that throw, so it runs in any test runner and in a browser.
 *
 * @example
 * for (const { name, run } of storeContract('memory', async () => {
 *   const store = memoryStore()
 *   return { lasting: false, open: async (scope) => (scope === undefined ? store : scopedTo(store, scope)) }
 * }))
 *   it(name, run)
 */
import type { Store } from 'indelible/store'
import { argumentCases } from './argument-cases.ts'
import { appendCases } from './append-cases.ts'
import { spokenCases } from './spoken-cases.ts'
import { blockCases } from './block-contract.ts'
import type { ContractCase } from './check.ts'
import { openAfterCrash, severalProcesses } from './several-processes.ts'
import { eraseCases } from './erase-cases.ts'
import { anyFault, everyFault } from './fault-cases.ts'
import { followCases } from './follow-cases.ts'
import { forkCases } from './fork-cases.ts'
import { idCases } from './id-cases.ts'
import { leaseCases } from './lease-cases.ts'
import { lifeCases } from './life-cases.ts'
import { listCases } from './list-cases.ts'
import type { StorePlace } from './place.ts'
import { readCases } from './read-cases.ts'
import { timeCases } from './time-cases.ts'

/**
 * The suite for stores. Each case creates its own places, so cases may run in parallel.
 *
 * @param name the name of the adapter, for case names
 * @param makePlace creates an empty place
 * @example
 * for (const { name, run } of storeContract('mine', makePlace)) it(name, run)
 */
export const storeContract = (name: string, makePlace: () => Promise<StorePlace>): readonly ContractCase[] => {
  const onPlace = async (work: (place: StorePlace) => Promise<void>): Promise<void> => {
    const place = await makePlace()
    const opened: Store[] = []
    const open: StorePlace['open'] = async (scope) => {
      const store = await place.open(scope)
      opened.push(store)
      return store
    }
    try {
      await work({ ...place, open })
    } finally {
      for (const store of opened) await store.close()()
      await place.leave?.()
    }
  }
  const cases = Object.entries({
    ...appendCases,
    ...argumentCases,
    ...timeCases,
    ...readCases,
    ...listCases,
    ...forkCases,
    ...blockCases,
    ...spokenCases,
    ...idCases,
    ...followCases,
    ...leaseCases,
    ...eraseCases,
    ...lifeCases,
  }).map(([title, work]) => ({
    name: `${name}: ${title}`,
    run: () => onPlace(async (place) => work(await place.open(), place)),
  }))
  return [
    ...cases,
    // A place that does not support these passes.
    {
      name: `${name}: several processes append to one log`,
      run: () => onPlace(async (place) => place.elsewhere && severalProcesses(place, place.elsewhere)),
    },
    {
      name: `${name}: whatever step fails, nothing is partial, lost or duplicated, and reads return what is stored`,
      run: () => onPlace(everyFault),
    },
    {
      name: `${name}: with random failures by seed, nothing is partial, lost or duplicated`,
      run: () => onPlace(anyFault),
    },
    {
      name: `${name}: the store opens in a place where a crash left an unfinished setup`,
      run: async () => {
        let wrecks = 0
        await onPlace(async (place) => void (wrecks = place.wrecks?.length ?? 0))
        for (let index = 0; index < wrecks; index++) await onPlace((place) => openAfterCrash(place, index))
      },
    },
  ]
}
