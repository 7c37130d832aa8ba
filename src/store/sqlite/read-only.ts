/** A driver for a file that can't be written: every write is a fault. */
import type { Either } from 'fp-ts/lib/Either.js'
import { left } from '../../json/index.ts'
import type { Answer } from '../port/driver.ts'
import type { StoreFault } from '../fault.ts'
import type { SqliteDriver } from './driver.ts'
import type { Reading } from './open.ts'

/** It lists each member, and is complete by its type: a method that is left out would be missing in silence. */
export const readOnlyDriver = (driver: SqliteDriver, path: string, { reason, isStale }: Reading): SqliteDriver => {
  const refusal: StoreFault =
    reason?._tag === 'ReadOnly' ? reason : { _tag: 'ReadOnly', path, ...(reason?._tag === 'Full' && { full: true }) }
  const refuse = async (): Promise<Either<StoreFault, never>> => left(refusal)
  const withFreshRead =
    <Given extends readonly unknown[], T>(read: (...args: Given) => Answer<T>) =>
    async (...args: Given): Answer<T> => {
      const answered = await read(...args)
      return isStale()
        ? left({
            _tag: 'Io',
            operation: `read ${path}`,
            cause: new Error('another process writes to it, and it was opened as immutable: open it again'),
          })
        : answered
    }
  const { hash, now, watch, close, erasing, index } = driver
  return {
    hash,
    now,
    watch,
    close,
    create: refuse,
    update: refuse,
    append: refuse,
    fork: refuse,
    remove: refuse,
    lease: (scope, id, change) => (change.type === 'look' ? withFreshRead(driver.lease)(scope, id, change) : refuse()),
    putBlocks: refuse,
    repair: refuse,
    check: withFreshRead(driver.check),
    info: withFreshRead(driver.info),
    list: withFreshRead(driver.list),
    pieces: withFreshRead(driver.pieces),
    scopes: withFreshRead(driver.scopes),
    read: withFreshRead(driver.read),
    nodes: withFreshRead(driver.nodes),
    erasing: {
      erase: refuse,
      sharing: withFreshRead(erasing.sharing),
      containing: withFreshRead(erasing.containing),
      erased: withFreshRead(erasing.erased),
    },
    getBlocks: withFreshRead(driver.getBlocks),
    hasBlocks: withFreshRead(driver.hasBlocks),
    index: {
      find: withFreshRead(index.find.bind(index)),
      findIn: withFreshRead(index.findIn.bind(index)),
      places: withFreshRead(index.places.bind(index)),
      logsAt: withFreshRead(index.logsAt.bind(index)),
      segmentsOf: withFreshRead(index.segmentsOf.bind(index)),
      encrypted: withFreshRead(index.encrypted.bind(index)),
      make: refuse,
      add: refuse,
      drop: refuse,
    },
  }
}
