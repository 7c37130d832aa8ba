/**
 * A store in one SQLite file, by the SQLite that Node has built in: no other dependency, no server.
 *
 * The file is in write-ahead mode, so processes that read it don't wait for one that writes; several processes may
 * write to it, one at a time.
 */
import { hash as hashOf } from 'node:crypto'
import { resolve } from 'node:path'
import { isLeft, left } from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { Hash } from '../../digest/index.ts'
import { storeOf } from '../driver.ts'
import type { StoreFault } from '../fault.ts'
import type { Store } from '../store.ts'
import { sqliteDriver } from './driver.ts'
import { faultOf } from './fault.ts'
import { openDatabase } from './open.ts'
import { Writer } from './writer.ts'

export interface SqliteOptions {
  /** The file; its folder must be there. SQLite puts two more beside it, `-wal` and `-shm`. */
  readonly path: string
  /** Whether a file is made where there is none; else that is `NoStore`. Default: true. */
  readonly create?: boolean
  /**
   * When a write is acknowledged. `disk`: it is on the disk, and survives a loss of power. `os`: the operating system
   * has it, and it survives the end of the process, `kill -9` too. Default: `disk`.
   */
  readonly durability?: 'disk' | 'os'
  /** The scope of the handle. Default: `default`. */
  readonly scope?: string
  /** Milliseconds to wait for another process that writes, before `Busy`. Default: 5,000. */
  readonly wait?: number
  /** The time in milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number
}

/**
 * Open a store file, or start one.
 *
 * Faults  `NoStore`, `NotAStore`, `NewerStore`, `ReadOnly`, `Full`, `Busy`, `Io`; nothing in a file that is not ours is changed
 * Cost    writes that wait together share one transaction and one sync (bench: stores, loop-delay)
 * @example
 * const opened = await sqliteStore({ path: 'agent.db' })()
 * if (isRight(opened)) createSession(opened.right)
 */
export const sqliteStore =
  ({ path: given, create = true, durability = 'disk', scope, wait = 5000, now = Date.now }: SqliteOptions): TaskEither<StoreFault, Store> =>
  async () => {
    const path = resolve(given)
    const opened = await openDatabase(path, { wait, create })
    if (isLeft(opened)) return opened
    const db = opened.right
    try {
      const store = storeOf(sqliteDriver(db, new Writer(db, { path, durability, wait }), sha256, now), scope)
      if (isLeft(store)) db.close()
      return store
    } catch (error) {
      db.close()
      return left(faultOf(error, path, 'open the file'))
    }
  }

const sha256: Hash = (bytes) => hashOf('sha256', bytes, 'buffer')
