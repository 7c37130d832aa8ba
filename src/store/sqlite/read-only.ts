/** A driver that writes nothing, over a file that can't be written to. */
import type { Either } from 'fp-ts/lib/Either.js'
import { left } from '../../json/index.ts'
import type { Answer, StoreDriver } from '../driver.ts'
import type { StoreFault } from '../fault.ts'
import type { Reading } from './open.ts'

export const readOnlyDriver = (driver: StoreDriver, path: string, { isStale }: Reading): StoreDriver => {
  const refuse = async (): Promise<Either<StoreFault, never>> => left({ _tag: 'ReadOnly', path })
  const fresh =
    <Given extends readonly unknown[], T>(read: (...given: Given) => Answer<T>) =>
    async (...given: Given): Answer<T> => {
      const answered = await read(...given)
      return isStale()
        ? left({
            _tag: 'Io',
            operation: `read ${path}`,
            cause: new Error('somebody writes to it, and it was opened where that can not be followed: open it again'),
          })
        : answered
    }
  return {
    ...driver,
    create: refuse,
    update: refuse,
    append: refuse,
    fork: refuse,
    remove: refuse,
    lease: (scope, id, change) => (change.type === 'look' ? fresh(driver.lease)(scope, id, change) : refuse()),
    putBlocks: refuse,
    repair: refuse,
    info: fresh(driver.info),
    list: fresh(driver.list),
    read: fresh(driver.read),
    nodes: fresh(driver.nodes),
    getBlocks: fresh(driver.getBlocks),
    hasBlocks: fresh(driver.hasBlocks),
  }
}
