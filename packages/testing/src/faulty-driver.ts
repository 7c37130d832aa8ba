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
  create: (...args) => faults.later('create', () => driver.create(...args)),
  info: (...args) => faults.later('info', () => driver.info(...args)),
  list: (...args) => faults.later('list', () => driver.list(...args)),
  update: (...args) => faults.later('update', () => driver.update(...args)),
  append: (...args) => faults.later('append', () => driver.append(...args)),
  read: (...args) => faults.later('read', () => driver.read(...args)),
  nodes: (...args) => faults.later('nodes', () => driver.nodes(...args)),
  fork: (...args) => faults.later('fork', () => driver.fork(...args)),
  remove: (...args) => faults.later('remove', () => driver.remove(...args)),
  lease: (...args) => faults.later('lease', () => driver.lease(...args)),
  // Blocks stored on their own need not be atomic.
  putBlocks: (scope, blocks) =>
    faults.later('putBlocks', () => driver.putBlocks(scope, blocks), {
      tear: (share) => driver.putBlocks(scope, blocks.slice(0, Math.floor(share * blocks.length))),
    }),
  getBlocks: (...args) => faults.later('getBlocks', () => driver.getBlocks(...args)),
  hasBlocks: (...args) => faults.later('hasBlocks', () => driver.hasBlocks(...args)),
  ...(driver.erasing !== undefined && { erasing: faultyErasing(driver.erasing, faults) }),
  close: () => driver.close(),
})

const faultyErasing = (erasing: ErasingDriver, faults: Faults): ErasingDriver => ({
  erase: (...args) => faults.later('erase', () => erasing.erase(...args)),
  sharing: (...args) => faults.later('sharing', () => erasing.sharing(...args)),
  containing: (...args) => faults.later('containing', () => erasing.containing(...args)),
})
