/** A driver for a file that can't be written: every write is a fault. */
import type { Either } from 'fp-ts/lib/Either.js'
import { left } from '../../json/index.ts'
import type { Answer, IndexDriver, StoreDriver } from '../port/driver.ts'
import type { StoreFault } from '../fault.ts'
import type { Reading } from './open.ts'

export const readOnlyDriver = (driver: StoreDriver, path: string, { isStale }: Reading): StoreDriver => {
  const refuse = async (): Promise<Either<StoreFault, never>> => left({ _tag: 'ReadOnly', path })
  const withFreshRead =
    <Given extends readonly unknown[], T>(read: (...given: Given) => Answer<T>) =>
    async (...given: Given): Answer<T> => {
      const answered = await read(...given)
      return isStale()
        ? left({
            _tag: 'Io',
            operation: `read ${path}`,
            cause: new Error('another process writes to it, and it was opened as immutable: open it again'),
          })
        : answered
    }
  const { index, states } = driver
  return {
    ...driver,
    create: refuse,
    update: refuse,
    append: refuse,
    fork: refuse,
    remove: refuse,
    lease: (scope, id, change) => (change.type === 'look' ? withFreshRead(driver.lease)(scope, id, change) : refuse()),
    putBlocks: refuse,
    repair: refuse,
    info: withFreshRead(driver.info),
    list: withFreshRead(driver.list),
    ...(driver.pieces && { pieces: withFreshRead(driver.pieces) }),
    ...(driver.scopes && { scopes: withFreshRead(driver.scopes) }),
    read: withFreshRead(driver.read),
    nodes: withFreshRead(driver.nodes),
    ...(driver.erasing !== undefined && {
      erasing: {
        erase: refuse,
        sharing: withFreshRead(driver.erasing.sharing),
        containing: withFreshRead(driver.erasing.containing),
      },
    }),
    getBlocks: withFreshRead(driver.getBlocks),
    hasBlocks: withFreshRead(driver.hasBlocks),
    ...(states !== undefined && {
      states: { read: withFreshRead((scope: string, id: string) => states.read(scope, id)), write: refuse },
    }),
    ...(index !== undefined && {
      index: {
        find: withFreshRead((scope: string, query: Parameters<IndexDriver['find']>[1]) => index.find(scope, query)),
        findIn: withFreshRead((scope: string, logs: readonly string[], term: string) =>
          index.findIn(scope, logs, term),
        ),
        make: refuse,
        add: refuse,
        drop: refuse,
      },
    }),
  }
}
