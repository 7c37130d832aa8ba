/** Opening a store file: whose it is, of which version, and whether it can be written to. */
import { accessSync, constants, existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { left, right, type Either } from 'fp-ts/lib/Either.js'
import type { StoreFault } from '../fault.ts'
import { busy, codeOf, faultOf, locked } from './fault.ts'
import { applicationId, steps } from './schema.ts'

/** Ours to use, at today's version. Another process that does the same is waited for. */
export const openDatabase = async (path: string, { wait, create }: { readonly wait: number; readonly create: boolean }): Promise<Either<StoreFault, DatabaseSync>> => {
  if (!create && !existsSync(path)) return left({ _tag: 'NoStore', path })
  const unwritable = whyNotWritable(path)
  if (unwritable !== undefined) return left(unwritable)
  let db: DatabaseSync | undefined
  try {
    const opened = new DatabaseSync(path, { timeout: 0 })
    db = opened
    const problem = await patiently(wait, () => prepare(opened, path))
    if (problem === undefined) return right(opened)
    opened.close()
    return left(problem)
  } catch (error) {
    db?.close()
    return left(codeOf(error) === busy || codeOf(error) === locked ? { _tag: 'Busy', waited: wait } : faultOf(error, path, 'open the file'))
  }
}

/** The permissions, before SQLite says only that it can't open something. */
const whyNotWritable = (path: string): StoreFault | undefined => {
  try {
    accessSync(existsSync(path) ? path : dirname(path), constants.W_OK)
    accessSync(dirname(path), constants.W_OK) // the write-ahead log stands beside the file
    return undefined
  } catch (error) {
    return faultOf(error, path, 'open the file')
  }
}

const prepare = (db: DatabaseSync, path: string): StoreFault | undefined => {
  const foreign = check(db, path)
  if (foreign !== undefined) return foreign
  db.exec('pragma page_size = 8192') // of a new file: messages of a kilobyte fill 4 kB badly. One that is there keeps its own
  const { journal_mode: mode } = db.prepare('pragma journal_mode = wal').get() as { readonly journal_mode: string }
  if (mode !== 'wal') throw new Error(`the file system of ${path} has no shared memory, which a write-ahead log needs`)
  // Full for what follows: it makes SQLite sync the folder that the new files stand in.
  db.exec('pragma synchronous = full')
  db.exec('begin immediate')
  try {
    const version = numberOf(db, 'user_version') // again: another process may have been quicker
    for (const step of steps.slice(version)) db.exec(step)
    db.exec(`pragma application_id = ${applicationId}`)
    db.exec(`pragma user_version = ${steps.length}`)
    db.exec('commit')
  } catch (error) {
    rollBack(db)
    throw error
  }
  db.exec('pragma synchronous = normal')
  return undefined
}

const check = (db: DatabaseSync, path: string): StoreFault | undefined => {
  const [application, version] = [numberOf(db, 'application_id'), numberOf(db, 'user_version')]
  if (application === applicationId) return version > steps.length ? { _tag: 'NewerStore', path, found: version, supported: steps.length } : undefined
  const { tables } = db.prepare('select count(*) as tables from sqlite_schema').get() as { readonly tables: number }
  return tables > 0 || application !== 0 || version !== 0 ? { _tag: 'NotAStore', path, found: 'a SQLite database of something else' } : undefined
}

const numberOf = (db: DatabaseSync, pragma: 'application_id' | 'user_version'): number =>
  Object.values(db.prepare(`pragma ${pragma}`).get() ?? {})[0] as number

/** After some errors SQLite has rolled back by itself, and says that there is nothing to roll back. */
export const rollBack = (db: DatabaseSync): void => {
  try {
    db.exec('rollback')
  } catch {
    // Whatever else it were, the next transaction would say so.
  }
}

/**
 * Do something that another process's lock may stand in the way of. Here and not in SQLite is where it is waited: that
 * would hold the event loop up.
 */
export const patiently = async <T>(wait: number, work: () => T): Promise<T> => {
  const until = performance.now() + wait
  for (let pause = 1; ; pause = Math.min(pause * 2, 50)) {
    try {
      return work()
    } catch (error) {
      const code = codeOf(error)
      if ((code !== busy && code !== locked) || performance.now() + pause > until) throw error
    }
    // Not all waiters at the same moment again.
    await new Promise((resolve) => setTimeout(resolve, pause * (0.5 + Math.random())))
  }
}
