/** How another process opens a SQLite store. */
import { isLeft } from 'fp-ts/lib/Either.js'
import { storeFaultText, type Store } from '../../src/store/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'

export const openStore = async (path: string): Promise<Store> => {
  const opened = await sqliteStore({ path, durability: 'os', wait: 30_000 })()
  if (isLeft(opened)) throw new Error(storeFaultText(opened.left))
  return opened.right
}
