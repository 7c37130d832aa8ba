/** Copies a store file while others write to it, with SQLite's own backup: the whole store at one moment. */
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import * as sqlite from 'node:sqlite'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right, optionsOf, present } from '../../json/index.ts'
import { callCallback, type CallbackThrew, type SignalLike, type Task } from '../../task/index.ts'
import type { StoreFinding } from '../port/check.ts'
import type { Answer } from '../port/driver.ts'
import { storeTask, type StoreFault } from '../fault.ts'
import { faultOf } from './fault.ts'
import { cancelled } from '../port/slices.ts'
import { filePath } from './file-path.ts'
import { openDatabase } from './open.ts'
import { sqliteStore } from './store.ts'

/** The options of `backupSqlite`. */
interface BackupOptions {
  /** The store file. */
  readonly path: string
  /** The file to write; it must not exist. */
  readonly to: string
  /**
   * Called while pages are copied.
   *
   * @param done the number of pages copied
   * @param of the number of pages
   */
  readonly progress?: (done: number, of: number) => void
  /** Aborting this signal before the copy has its name ends the backup with `Cancelled`, and leaves no file. Default: none. */
  readonly signal?: SignalLike
}

/**
 * Copy a store file, check the copy like `store.check`, and sync it to disk. The copy has all
 * appends that resolved before it started. It does not delay writers.
 *
 * Cost    O(file): read, written, and read again
 *
 * @param options the source, the target, a progress callback, and a signal
 * @returns the findings of the check, empty for a valid copy; or `NoStore`, `Io` if the file `to` exists, `Full`
 */
export const backupSqlite = (options: BackupOptions): Task<StoreFault | CallbackThrew, readonly StoreFinding[]> => {
  const {
    path: file,
    to,
    progress = () => {},
    signal,
  } = optionsOf('backupSqlite', options, { path: true, to: true, progress: true, signal: true })
  const [path, target] = [filePath('backupSqlite', 'path', file), filePath('backupSqlite', 'to', to)]
  return storeTask(async () => {
    if (existsSync(target))
      return left({
        _tag: 'Io',
        operation: `write ${target}`,
        cause: new Error('the file already exists; choose another name'),
      })
    const opened = await openDatabase(path, { wait: 5000, create: false, readOnly: true })
    if (isLeft(opened)) return opened
    const ended = cancelled(signal)
    if (ended !== undefined) {
      opened.right.db.close()
      return left(ended)
    }
    // A name of its own: another backup to the same target must not write or remove it.
    const part = `${target}.${process.pid}-${randomBytes(4).toString('hex')}.part`
    try {
      removePartsOfKilled(target)
      let outcome: Either<CallbackThrew, void> = right(undefined)
      // All pages in one step: otherwise a write by another process between two steps makes SQLite start over.
      await sqlite.backup(opened.right.db, part, {
        rate: allPages,
        progress: ({ totalPages, remainingPages }) => {
          outcome = callCallback('progress', () => progress(totalPages - remainingPages, totalPages))
        },
      })
      if (isLeft(outcome)) return outcome
      const findings = await check(part, signal)
      if (isLeft(findings)) return findings
      await sync(part)
      renameSync(part, target)
      await sync(dirname(target))
      return right(findings.right)
    } catch (error) {
      return left(faultOf(error, target, 'back the store up'))
    } finally {
      opened.right.db.close()
      for (const end of ['', '-wal', '-shm']) rmSync(part + end, { force: true })
    }
  }, 'backupSqlite')
}

const allPages = 2 ** 31 - 1

/** Removes what killed backups to this target have left. */
const removePartsOfKilled = (target: string): void => {
  const [folder, name] = [dirname(target), basename(target)]
  for (const file of readdirSync(folder)) {
    const [, pid] = (file.startsWith(`${name}.`) && /^(\d+)-[0-9a-f]{8}\.part/.exec(file.slice(name.length + 1))) || []
    if (pid !== undefined && !isRunning(Number(pid))) rmSync(join(folder, file), { force: true })
  }
}

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH' // another user's
  }
}

const check = async (path: string, signal: SignalLike | undefined): Answer<readonly StoreFinding[]> => {
  const store = await sqliteStore({ path, create: false })()
  if (isLeft(store)) return store
  const findings = await store.right.check(present({ signal }))()
  const closed = await store.right.close()()
  return isLeft(closed) ? closed : findings
}

const sync = async (path: string): Promise<void> => {
  const { open } = await import('node:fs/promises') // few programs need it
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
