/** A store driver with strikable calls, for stores whose medium has no accessible steps. */
import { present } from 'indelible/internal/json'
import type { ErasingDriver, StoreDriver } from 'indelible/store/driver'
import type { Faults } from './faults.ts'

/**
 * Wrap a driver so that every call is a step that can be struck. `storeOf` makes a store from it.
 *
 * @param driver the driver to wrap
 * @example
 * const faults = injectFaults({ seed: 1 })
 * const store = storeOf(faultyDriver(memoryDriver(), faults))
 */
export const faultyDriver = (driver: StoreDriver, faults: Faults): StoreDriver => ({
  hash: driver.hash,
  ...present({ now: driver.now, scopes: driver.scopes, watch: driver.watch }),
  create: (...given) => faults.later('create', () => driver.create(...given)),
  info: (...given) => faults.later('info', () => driver.info(...given)),
  list: (...given) => faults.later('list', () => driver.list(...given)),
  update: (...given) => faults.later('update', () => driver.update(...given)),
  append: (...given) => faults.later('append', () => driver.append(...given)),
  read: (...given) => faults.later('read', () => driver.read(...given)),
  nodes: (...given) => faults.later('nodes', () => driver.nodes(...given)),
  fork: (...given) => faults.later('fork', () => driver.fork(...given)),
  remove: (...given) => faults.later('remove', () => driver.remove(...given)),
  lease: (...given) => faults.later('lease', () => driver.lease(...given)),
  // Blocks stored on their own need not be atomic.
  putBlocks: (scope, blocks) =>
    faults.later('putBlocks', () => driver.putBlocks(scope, blocks), {
      tear: (share) => driver.putBlocks(scope, blocks.slice(0, Math.floor(share * blocks.length))),
    }),
  getBlocks: (...given) => faults.later('getBlocks', () => driver.getBlocks(...given)),
  hasBlocks: (...given) => faults.later('hasBlocks', () => driver.hasBlocks(...given)),
  ...(driver.erasing !== undefined && { erasing: faultyErasing(driver.erasing, faults) }),
  close: () => driver.close(),
})

const faultyErasing = (erasing: ErasingDriver, faults: Faults): ErasingDriver => ({
  erase: (...given) => faults.later('erase', () => erasing.erase(...given)),
  sharing: (...given) => faults.later('sharing', () => erasing.sharing(...given)),
  containing: (...given) => faults.later('containing', () => erasing.containing(...given)),
})
