/**
 * A store in one SQLite file, by the SQLite that Node has built in: no other dependency, no server.
 *
 * The file is in write-ahead mode, so processes that read it don't wait for one that writes; several processes may
 * write to it, one at a time.
 */
import { resolve } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right, optionsOf } from '../../json/index.ts'
import { amount, type Task } from '../../task/index.ts'
import { portableSha256 as sha256 } from '../../proof/kit.ts'
import { findingText, type StoreFinding, type StoreRepair } from '../port/check.ts'
import { type StoreDriver } from '../port/driver.ts'
import { storeOf } from '../rules/handle.ts'
import { storeTask, type OpenStoreFault, type StoreFault } from '../fault.ts'
import { quietly, type OnNotice } from '../port/notice.ts'
import type { Store } from '../port/store.ts'
import { checkDatabase, type Finding } from './check.ts'
import { sqliteDriver } from './driver.ts'
import { faultOf } from './fault.ts'
import { networkFileSystem } from './network.ts'
import { openDatabase } from './open.ts'
import { readOnlyDriver } from './read-only.ts'
import { Writer } from './writer.ts'

/** How to open a SQLite store. */
export interface SqliteOptions {
  /** The file; its folder must exist. `:memory:` is refused: `memoryStore()` is that. SQLite puts two more files beside it, `-wal` and `-shm`. */
  readonly path: string
  /** Whether to create a missing file; if false, that is `NoStore`. Default: true. */
  readonly create?: boolean
  /**
   * Open the file for reading only: every write is a `ReadOnly` fault. A file that this process can't write is opened
   * so automatically, and `onNotice` receives a report. Default: false.
   */
  readonly readOnly?: boolean
  /**
   * Receives reports: the file was opened for reading only, it is on a network file system, its write-ahead log grows because
   * of a long read, damage was read. Default: they are dropped.
   */
  readonly onNotice?: OnNotice
  /**
   * When a write resolves. `disk`: when it is on the disk, where it survives a loss of power. `os`: when the operating
   * system has it; it then survives the end of the process, also by `kill -9`. Default: `disk`.
   */
  readonly durability?: 'disk' | 'os'
  /** The scope of the handle. Default: `default`. */
  readonly scope?: string
  /** How long to wait for another process that writes, in milliseconds, before `Busy`. Default: 5,000. */
  readonly wait?: number
  /**
   * The clock of the store. Default: `Date.now`.
   *
   * @returns milliseconds since 1970
   */
  readonly now?: () => number
}

/**
 * Open a store file, or create one. A file of the current version is not changed by opening it.
 *
 * Cost    writes that wait together share one transaction and one sync (bench: stores, loop-delay)
 *
 * @param options the path, and how durable a write is when it resolves
 * @returns the store; or `NoStore`, `NotAStore`, `NewerStore`, `OlderStore`, `ReadOnly`, `Full`, `Busy`, `Io`. A file of another
 * program
 * is not changed
 * @example
 * const store = await sqliteStore({ path: 'agent.db' })
 * const session = await createSession(store)
 */
export const sqliteStore = (options: SqliteOptions): Task<OpenStoreFault, Store> => {
  const {
    path: given,
    create = true,
    readOnly = false,
    onNotice: notify = () => {},
    durability = 'disk',
    scope,
    wait = 5000,
    now = Date.now,
  } = optionsOf('sqliteStore', options, known)
  if (typeof given !== 'string') throw new TypeError('sqliteStore needs a path: the file of the store')
  if (given === ':memory:') throw new TypeError('sqliteStore keeps a file: memoryStore() is the store in memory')
  amount('wait', wait, { unit: 'milliseconds' })
  return storeTask(async () => {
    const path = resolve(given)
    const onNotice = quietly(notify)
    const opened = await openDatabase(path, { wait, create, readOnly })
    if (isLeft(opened)) return opened
    const { db, reading, again } = opened.right
    try {
      if (reading?.reason !== undefined) onNotice({ _tag: 'OpenedReadOnly', path, reason: reading.reason })
      const network = networkFileSystem(path)
      if (network !== undefined) onNotice({ _tag: 'NetworkFileSystem', path, type: network })
      const writer = new Writer(db, { path, durability, wait, onNotice })
      const driver: StoreDriver = {
        ...sqliteDriver(db, writer, sha256, now),
        check: () => checked(again),
        repair: () => writer.write(() => right(repairStore(db))),
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

/**
 * What a check finds, read by a connection of its own in short pieces: a long read keeps the write-ahead log from being
 * emptied. Pieces of several moments may contradict each other. Only what is found twice while others write is looked at
 * again at one moment.
 */
const checked = async (open: () => DatabaseSync): Promise<Either<StoreFault, readonly StoreFinding[]>> => {
  const db = open()
  const pass = async (): Promise<readonly StoreFinding[]> => {
    const findings: StoreFinding[] = []
    let turns = 0
    for (const found of checkDatabase(db, sha256)) {
      if (found !== undefined) findings.push(findingOf(found))
      if (++turns % 200 === 0) await new Promise(setImmediate)
    }
    return Object.freeze(findings)
  }
  /** Changes when another connection has written. */
  const version = (): unknown => db.prepare('pragma data_version').get()?.['data_version']
  try {
    const before = version()
    const first = await pass()
    if (first.length === 0 || version() === before) return right(first)
    const texts = new Set((await pass()).map(findingText))
    if (!first.some((found) => texts.has(findingText(found)))) return right([])
    db.exec('begin')
    return right(await pass())
  } finally {
    db.close()
  }
}

const findingOf = ({ rebuild, ...found }: Finding): StoreFinding =>
  Object.freeze({ ...found, repairable: rebuild !== undefined })

/** Damage may hide more damage, so passes are repeated until one changes nothing. */
const repairStore = (db: DatabaseSync): readonly StoreRepair[] => {
  const repairs = new Map<string, StoreRepair>()
  for (;;) {
    // All is found before anything is changed: what one table proves of another is what was stored.
    const all = new Map(
      [...checkDatabase(db, sha256)].flatMap((found) => (found === undefined ? [] : [[findingText(found), found]])),
    )
    for (const [text, { done, ...found }] of repairs)
      if (done === undefined && !all.has(text)) repairs.set(text, { ...found, done: 'it was repaired with the rest' })
    let changed = false
    for (const [text, { rebuild, ...found }] of all) {
      // What comes again after it was rebuilt is not rebuilt once more.
      const done = repairs.has(text) ? undefined : rebuild?.()
      repairs.set(text, { ...found, done })
      changed ||= done !== undefined
    }
    if (!changed) return Object.freeze([...repairs.values()].map((each) => Object.freeze(each)))
  }
}

const known = {
  path: true,
  create: true,
  readOnly: true,
  onNotice: true,
  durability: true,
  scope: true,
  wait: true,
  now: true,
} as const
