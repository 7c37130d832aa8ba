/**
 * A SQLite whose statements, and whose syncs of the disk, can be struck. It is the real one: each statement asks first
 * whether it is to be done.
 */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Faults, Medium, StruckStep } from '@indelible/testing'

/** Whose statements a database's are; null: nobody's. A database is that of the handle which is being opened. */
const owners = new WeakMap<DatabaseSync, Faults | null>()
const databases = new WeakMap<StatementSync, DatabaseSync>()
let opening: Faults | null = null
/** The last that was opened so. */
let syncing: Faults | undefined

/** Open a handle whose statements go through `faults`. */
export const openingWith = async <T>(faults: Faults, open: () => Promise<T>): Promise<T> => {
  opening = syncing = faults
  try {
    return await open()
  } finally {
    opening = null
  }
}

/** https://sqlite.org/rescode.html: an error of the disk, or no space on it. What was committed was not for want of space. */
const failure = ({ strike, step, number }: StruckStep): Error =>
  Object.assign(new Error(`${strike}: ${step}`), { errcode: strike === 'fail before' && number % 2 === 0 ? 13 : 10 })

const runStep = <T>(db: DatabaseSync | undefined, text: string, work: () => T): T => {
  if (db === undefined) return work()
  if (!owners.has(db)) owners.set(db, opening)
  const faults = owners.get(db)
  // SQLite can't fail to roll back what was not committed.
  if (faults === null || faults === undefined || (text === 'rollback' && !faults.crashed)) return work()
  const medium: Medium = { error: failure, crash: () => db.close() } // it rolls back, as the next to open would
  return faults.now(text.trim().slice(0, 40), work, medium)
}

const { exec, prepare } = DatabaseSync.prototype
DatabaseSync.prototype.exec = function (text) {
  return runStep(this, text, () => exec.call(this, text))
}
DatabaseSync.prototype.prepare = function (...options) {
  if (!owners.has(this)) owners.set(this, opening)
  const statement = prepare.apply(this, options)
  databases.set(statement, this)
  return statement
}
for (const name of ['run', 'get', 'all', 'iterate'] as const) {
  const real = StatementSync.prototype[name] as (...given: unknown[]) => unknown
  Object.assign(StatementSync.prototype, {
    [name](this: StatementSync, ...given: unknown[]): unknown {
      return runStep(databases.get(this), this.sourceSQL, () => real.apply(this, given))
    },
  })
}

const { fdatasync } = fs
type Done = (error: NodeJS.ErrnoException | null) => void
const synced = (file: number): Promise<void> =>
  new Promise((resolve, reject) => fdatasync(file, (error) => (error === null ? resolve() : reject(error))))
const struckSync = (file: number, answer: Done): void => {
  const faults = syncing
  if (faults === undefined) return fdatasync(file, answer)
  const error = ({ strike }: StruckStep): Error => Object.assign(new Error(`${strike}: sync`), { code: 'EIO' })
  faults.later('sync', () => synced(file), { error }).then(() => answer(null), answer)
}
Object.assign(fs, { fdatasync: struckSync })
syncBuiltinESMExports()
