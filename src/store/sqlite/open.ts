/** Opens a store file: checks its owner and format, and whether it is writable. */
import { accessSync, constants, existsSync, statSync, type Stats } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from '../../json/index.ts'
import type { OpenStoreFault } from '../fault.ts'
import { formatFault, type Format } from '../port/format.ts'
import { busy, codeOf, faultOf, locked } from './fault.ts'
import { applicationId, applyFormats, formats, olderApplicationId } from './schema.ts'

interface Opened {
  readonly db: DatabaseSync
  /** Opens the same file in another connection, for reading. */
  readonly again: () => DatabaseSync
  /** The file, as a thread opens it for reading. */
  readonly file: string
  /** Set if it is opened read-only. */
  readonly reading?: Reading
}

export interface Reading {
  /** The reason, if it was to be opened for writing. */
  readonly reason?: OpenStoreFault
  /**
   * If SQLite could not create its files beside it, the file was opened as immutable. True if it
   * has changed since: then reads may mix two states.
   */
  readonly isStale: () => boolean
}

interface OpenOptions {
  readonly wait: number
  readonly create: boolean
  readonly readOnly: boolean
}

/** Open a store file; create or upgrade it if necessary. Opens it read-only if it can't be written. */
export const openDatabase = async (
  path: string,
  { wait, create, readOnly }: OpenOptions,
): Promise<Either<OpenStoreFault, Opened>> => {
  try {
    // Opening a pipe would block for ever, and a device has no end.
    for (const file of [path, `${path}-wal`, `${path}-shm`]) {
      const found = statSync(file, { throwIfNoEntry: false })
      if (found !== undefined && !found.isFile()) return left({ _tag: 'NotAStore', path: file, found: kindOf(found) })
    }
    if (!isThere(path, constants.R_OK) && (readOnly || !create)) return left({ _tag: 'NoStore', path })
  } catch (cause) {
    return left({ _tag: 'Io', operation: `open ${path}`, cause }) // of another user, or in a folder of one
  }
  if (readOnly) return openToRead(path, wait, undefined)
  const opened = await openToWrite(path, wait)
  if (!isLeft(opened) || !(opened.left._tag === 'ReadOnly' || opened.left._tag === 'Full') || !existsSync(path))
    return opened
  const reading = await openToRead(path, wait, opened.left)
  return isLeft(reading) ? opened : reading
}

const kindOf = (found: Stats): string =>
  found.isDirectory() ? 'a folder' : found.isFIFO() ? 'a named pipe' : found.isSocket() ? 'a socket' : 'a device'

const openToWrite = async (path: string, wait: number): Promise<Either<OpenStoreFault, Opened>> => {
  const unwritable = whyNotWritable(path)
  if (unwritable !== undefined) return left(unwritable)
  return openOrClose(path, wait, (use) => {
    const db = use(new DatabaseSync(path, { timeout: 0 }))
    return patiently(wait, () => {
      const problem = prepare(db, path)
      return problem === undefined
        ? right({ db, file: path, again: () => new DatabaseSync(path, { readOnly: true }) })
        : left(problem)
    })
  })
}

const openToRead = (
  path: string,
  wait: number,
  reason: OpenStoreFault | undefined,
): Promise<Either<OpenStoreFault, Opened>> =>
  openOrClose(path, wait, async (use) => {
    const because = reason !== undefined && { reason }
    const read = (file: string, reopen: () => DatabaseSync, isStale: () => boolean): Either<OpenStoreFault, Opened> => {
      const db = use(reopen())
      const problem = check(db, path)
      if (problem !== undefined) return left(problem)
      if (numberOf(db, 'user_version') === 0) return left({ _tag: 'NoStore', path })
      return right({ db, file, again: reopen, reading: { ...because, isStale } })
    }
    try {
      const reopen = (): DatabaseSync => new DatabaseSync(path, { readOnly: true, timeout: 0 })
      return await patiently(wait, () => read(path, reopen, () => false))
    } catch (error) {
      if (codeOf(error) === busy || codeOf(error) === locked || codeOf(error) === undefined) throw error
      // SQLite needs two files beside it, which can't be created here. Without a log to read, it can do without them.
      const before = stateOf(path)
      if (hasLog(path))
        throw new Error(
          `${path}-wal has appends that are not in the file yet, and can't be read here: copy both files to a writable folder, and open the copy`,
          { cause: error },
        )
      const url = pathToFileURL(path)
      url.searchParams.set('immutable', '1')
      return read(
        url.href,
        () => new DatabaseSync(url, { readOnly: true }),
        () => hasLog(path) || stateOf(path) !== before,
      )
    }
  })

const hasLog = (path: string): boolean => (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0

const stateOf = (path: string): string => {
  const { ino, mtimeNs, size } = statSync(path, { bigint: true })
  return `${ino} ${mtimeNs} ${size}`
}

/** Closes each opened connection that is not returned. */
const openOrClose = async (
  path: string,
  wait: number,
  work: (use: (db: DatabaseSync) => DatabaseSync) => Promise<Either<OpenStoreFault, Opened>>,
): Promise<Either<OpenStoreFault, Opened>> => {
  const used: DatabaseSync[] = []
  let opened: Either<OpenStoreFault, Opened>
  try {
    opened = await work((db) => {
      used.push(db)
      return db
    })
  } catch (error) {
    opened = left(
      codeOf(error) === busy || codeOf(error) === locked
        ? { _tag: 'Busy', waited: wait }
        : faultOf(error, path, 'open the file'),
    )
  }
  for (const db of used) if (isLeft(opened) || opened.right.db !== db) db.close()
  return opened
}

/** Whether a file is there, in one look: another process that closes the store removes the files beside it. Throws if it can't be used. */
const isThere = (path: string, mode: number): boolean => {
  try {
    accessSync(path, mode)
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return false
    throw error
  }
}

/** Checks permissions first, because SQLite would only report that it can't open a file. */
const whyNotWritable = (path: string): OpenStoreFault | undefined => {
  const folder = dirname(path)
  let checked = path
  try {
    for (const file of [path, `${path}-wal`, `${path}-shm`]) isThere((checked = file), constants.W_OK)
    accessSync(folder, constants.W_OK) // the write-ahead log is beside the file
    return undefined
  } catch (error) {
    if (existsSync(folder)) return faultOf(error, checked, 'open the file')
    const cause = new Error(`the folder ${folder} does not exist; create it first`, { cause: error })
    return { _tag: 'Io', operation: `open ${path}`, cause }
  }
}

/** The bytes of the write-ahead log that stay allocated after it is emptied. A long read makes it longer until then. */
export const logLimit: number = 64 << 20

/** Writes only if necessary, so that a store on a full disk can still be read. */
const prepare = (db: DatabaseSync, path: string): OpenStoreFault | undefined => {
  const problem =
    check(db, path) ??
    (numberOf(db, 'user_version') < formats.length || modeOf(db, '') !== 'wal' ? bringUpToDate(db, path) : undefined)
  if (problem === undefined) db.exec(`pragma synchronous = normal; pragma journal_size_limit = ${logLimit}`)
  return problem
}

const bringUpToDate = (db: DatabaseSync, path: string): OpenStoreFault | undefined => {
  // For a new file. Pages of 8 kB would make an empty file 86 kB larger, and one with many messages 1 to 6 % smaller.
  db.exec('pragma page_size = 4096')
  if (modeOf(db, ' = wal') !== 'wal')
    throw new Error(`the file system of ${path} has no shared memory, which a write-ahead log needs`)
  // `full` makes SQLite sync the folder of the new files.
  db.exec('pragma synchronous = full')
  db.exec('begin immediate')
  try {
    const problem = checkNow(db, path) // again: another process may have upgraded it first
    const found = numberOf(db, 'user_version')
    if (problem === undefined && found < formats.length) {
      applyFormats(db, formats.slice(found))
      db.exec('delete from format')
      db.prepare('insert into format (fingerprint) values (?)').run((formats.at(-1) as Format).fingerprint) // the list is not empty
      db.exec(`pragma application_id = ${applicationId}`)
      db.exec(`pragma user_version = ${formats.length}`)
    }
    db.exec('commit')
    return problem
  } catch (error) {
    rollBack(db)
    throw error
  }
}

const modeOf = (db: DatabaseSync, change: '' | ' = wal'): string =>
  (db.prepare(`pragma journal_mode${change}`).get() as { readonly journal_mode: string }).journal_mode

/**
 * Checks which program made the file. The header is read in one transaction, because another
 * process may just be creating the store.
 */
const check = (db: DatabaseSync, path: string): OpenStoreFault | undefined => {
  db.exec('begin')
  try {
    return checkNow(db, path)
  } finally {
    rollBack(db)
  }
}

/** Like `check`, inside a transaction. */
const checkNow = (db: DatabaseSync, path: string): OpenStoreFault | undefined => {
  const [application, number] = [numberOf(db, 'application_id'), numberOf(db, 'user_version')]
  if (application === applicationId)
    return formatFault(path, { number, fingerprint: fingerprintIn(db) }, formats) ?? viewFault(db, path)
  if (application === olderApplicationId) return { _tag: 'OlderStore', path, found: number }
  const { tables } = db.prepare('select count(*) as tables from sqlite_schema').get() as { readonly tables: number }
  return tables > 0 || application !== 0 || number !== 0
    ? { _tag: 'NotAStore', path, found: 'a SQLite database of another program' }
    : undefined
}

/** Undefined if the file has none. */
const fingerprintIn = (db: DatabaseSync): string | undefined => {
  const has = db.prepare("select 1 from sqlite_schema where type = 'table' and name = 'format'").get() !== undefined
  const found = has ? db.prepare('select * from format').get()?.['fingerprint'] : undefined
  return typeof found === 'string' ? found : undefined
}

/** A view in place of a table can be endless, and reading it would block the process. */
const viewFault = (db: DatabaseSync, path: string): OpenStoreFault | undefined => {
  const views = db.prepare("select lower(name) as name from sqlite_schema where type = 'view'").all()
  const view = views.find(({ name }) => tableNames.has(String(name)))
  return view && { _tag: 'NotAStore', path, found: `a SQLite database in which "${String(view['name'])}" is a view` }
}

const tableNames = new Set(
  formats.flatMap(({ sql }) => [...sql.matchAll(/create (?:virtual )?table (\w+)/g)].map(([, name]) => name)),
)

const numberOf = (db: DatabaseSync, pragma: 'application_id' | 'user_version'): number =>
  Object.values(db.prepare(`pragma ${pragma}`).get() ?? {})[0] as number

/** Roll back. Returns whether a transaction was open: after some errors SQLite has rolled it back by itself. */
export const rollBack = (db: DatabaseSync): boolean => {
  try {
    db.exec('rollback')
    return true
  } catch {
    return false // any other problem will show in the next transaction
  }
}

/**
 * Retry work while another process holds a lock. The wait is here and not in SQLite, because that
 * would block the event loop.
 */
export const patiently = async <T>(wait: number, work: () => T): Promise<T> => {
  let until: number | undefined // Node loads its clock when it is first used, and most processes need none here
  for (let pause = 1; ; pause = Math.min(pause * 2, 50)) {
    try {
      return work()
    } catch (error) {
      const code = codeOf(error)
      if (code !== busy && code !== locked) throw error
      const now = performance.now()
      until ??= now + wait
      if (now >= until) throw error
    }
    await pauseFor(pause, until)
  }
}

/** Repeats `work` until it reports that it is done; false if the time ran out first. */
export const untilDone = async <F>(
  wait: number,
  work: () => Promise<Either<F, boolean>>,
): Promise<Either<F, boolean>> => {
  const until = performance.now() + wait
  for (let pause = 1; ; pause = Math.min(pause * 2, 50)) {
    const done = await work()
    if (isLeft(done) || done.right || performance.now() >= until) return done
    await pauseFor(pause, until)
  }
}

/** Random, so that waiters don't all retry at the same moment; the last attempt is at the end of the time. */
const pauseFor = (pause: number, until: number): Promise<void> => {
  const left = Math.max(0, until - performance.now())
  return new Promise((resolve) => setTimeout(resolve, Math.min(pause * (0.5 + Math.random()), left)))
}

/** Moves the write-ahead log into the file and truncates it. Returns whether that succeeded. */
export const emptyLog = (db: DatabaseSync): boolean =>
  (db.prepare('pragma wal_checkpoint(truncate)').get() as { readonly busy: number }).busy === 0
