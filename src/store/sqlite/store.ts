/**
 * A store in one SQLite file, with the SQLite built into Node: no other dependency, no server.
 *
 * The file is in write-ahead mode, so readers don't wait for a writer. Several processes can write
 * to it, one at a time.
 */
import { isLeft, left, right, optionsOf } from '../../json/index.ts'
import { amount, choice, type Task } from '../../task/index.ts'
import { portableSha256 as sha256 } from '../../proof/internal.ts'
import { storeOf } from '../rules/handle.ts'
import { storeTask, type OpenStoreFault } from '../fault.ts'
import { withoutThrows, type OnNotice } from '../port/notice.ts'
import type { Store } from '../port/store.ts'
import { sqliteDriver, type SqliteDriver } from './driver.ts'
import { faultOf } from './fault.ts'
import { filePath } from './file-path.ts'
import { networkFileSystem } from './network.ts'
import { openDatabase } from './open.ts'
import { readOnlyDriver } from './read-only.ts'
import { Writer } from './writer.ts'

/** The options of `sqliteStore`. */
export interface SqliteOptions {
  /**
   * The file, as a path or a `file:` URL without parameters. Its folder must exist; SQLite adds two files, `-wal` and `-shm`.
   * For `:memory:` use `memoryStore()`.
   */
  readonly path: string
  /** Whether to create a missing file. If false, the fault is `NoStore`. Default: true. */
  readonly create?: boolean
  /**
   * Open the file read-only: every write is then a `ReadOnly` fault. A file that this process can't
   * write is opened read-only automatically, and `onNotice` receives a report. Default: false.
   */
  readonly readOnly?: boolean
  /**
   * Receives reports: the file was opened read-only, it is on a network file system, its
   * write-ahead log grows because of a long read, or damage was read. Default: reports are dropped.
   */
  readonly onNotice?: OnNotice
  /**
   * When a write resolves. `disk`: when it is on disk, so it survives a power failure. `os`: when the
   * operating system has it, so it survives the end of the process, even by `kill -9`. Default: `disk`.
   */
  readonly durability?: 'disk' | 'os'
  /** The scope of the handle. Default: `default`. */
  readonly scope?: string
  /** How long to wait for another writing process, in milliseconds, before `Busy`. Default: 5,000. */
  readonly wait?: number
  /**
   * The clock of the store. Default: `Date.now`.
   *
   * @returns milliseconds since 1970
   */
  readonly now?: () => number
}

/**
 * Open a store file, or create one. Opening does not change a file in the current format.
 *
 * Cost    concurrent writes share one transaction and one sync (bench: stores, loop-delay)
 *
 * @param options the path, and how durable a write is when it resolves
 * @returns the store; or `NoStore`, `NotAStore`, `NewerStore`, `OlderStore`, `ReadOnly`, `Full`,
 * `Busy`, `Io`. Another program's file is not changed
 * @example
 * const store = await sqliteStore({ path: 'agent.db' })
 * const session = await createSession(store)
 */
export const sqliteStore = (options: SqliteOptions): Task<OpenStoreFault, Store> => {
  const {
    path: input,
    create = true,
    readOnly = false,
    onNotice: notify = () => {},
    durability = 'disk',
    scope,
    wait = 5000,
    now = Date.now,
  } = optionsOf('sqliteStore', options, optionNames)
  const path = filePath('sqliteStore', 'path', input)
  amount('wait', wait, { unit: 'milliseconds' })
  choice('durability', durability, ['disk', 'os'])
  return storeTask(async () => {
    const onNotice = withoutThrows(notify)
    const opened = await openDatabase(path, { wait, create, readOnly })
    if (isLeft(opened)) return opened
    const { db, file, reading, again } = opened.right
    try {
      if (reading?.reason !== undefined) onNotice({ _tag: 'OpenedReadOnly', path, reason: reading.reason })
      const network = networkFileSystem(path)
      if (network !== undefined) onNotice({ _tag: 'NetworkFileSystem', path, type: network })
      const writer = new Writer(db, { path, durability, wait, onNotice })
      const driver: SqliteDriver = {
        ...sqliteDriver(db, writer, sha256, now),
        // Loaded when it is first called: most processes never check a file.
        check: async (signal) => (await import('./check.ts')).checkStore({ file, again }, signal),
        repair: async (signal) => {
          const { checkStore, repairStore } = await import('./check.ts')
          const found = await checkStore({ file, again }, signal)
          if (isLeft(found)) return found
          if (found.right.length === 0) return right(Object.freeze([]))
          const repaired = await writer.outside(() => repairStore({ path, wait }, signal))
          return isLeft(repaired) ? repaired : repaired.right
        },
      }
      const store = storeOf(reading === undefined ? driver : readOnlyDriver(driver, path, reading), scope, onNotice)
      if (isLeft(store)) db.close()
      return store
    } catch (error) {
      db.close()
      return left(faultOf(error, path, 'open the file'))
    }
  }, 'sqliteStore')
}

const optionNames = {
  path: true,
  create: true,
  readOnly: true,
  onNotice: true,
  durability: true,
  scope: true,
  wait: true,
  now: true,
} as const
