/** The store at a path, or at the address of a PostgreSQL server with `?schema=NAME`, for processes of the tests. */
import type { Store } from '../../src/index.ts'
import { postgresStore } from '@indelible/postgres'
import { sqliteStore } from '../../src/store/sqlite/index.ts'

/** @param now milliseconds by which this process's clock is ahead */
export const openAt = async (path: string, ahead = 0): Promise<Store> => {
  const now = (): number => Date.now() + ahead
  return path.startsWith('postgres://')
    ? postgresStore({ timeout: 600_000, connectionString: path, connections: 3, now })
    : sqliteStore({ path, durability: 'os', wait: 60_000, now })
}
