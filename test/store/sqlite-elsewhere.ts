/** How another process opens a SQLite store. */
import { faultMessage } from '../../src/index.ts'
import { isLeft } from 'fp-ts/lib/Either.js'
import { type Store } from '../../src/store/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'

export const openStore = async (path: string): Promise<Store> => {
  const opened = await sqliteStore({ path, durability: 'os', wait: 30_000 })()
  if (isLeft(opened)) throw new Error(faultMessage(opened.left))
  return opened.right
}
