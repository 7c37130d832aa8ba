/**
 * Statements of SQLite that take one step however large the file is: `vacuum`, `pragma integrity_check`. They run in a
 * thread of their own, on a connection of their own, so that the event loop goes on.
 */
import { statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import type { SignalLike } from '../../task/index.ts'
import { sliceBytes } from '../port/slices.ts'
import { patiently } from './open.ts'

/** What a thread opens and runs. It must be possible to send it to a thread. */
export interface LongWork {
  /** The file, as a path or, for parameters of SQLite, as a `file:` URL. */
  readonly file: string
  readonly readOnly?: boolean
  /** How long SQLite waits for another connection, in milliseconds. Default: 0. */
  readonly wait?: number
  /** The statements, in order. */
  readonly statements: readonly string[]
}

/** The code of the thread. It is a text, because bundlers leave files behind that only a URL names. */
const code = `
const { parentPort, workerData: { file, readOnly = false, wait = 0, statements } } = require('node:worker_threads')
const { DatabaseSync } = require('node:sqlite')
try {
  const place = file.startsWith('file:') ? new URL(file) : file
  const db = new DatabaseSync(place, { readOnly, timeout: wait })
  try {
    let rows = []
    for (const statement of statements) rows = db.prepare(statement).all()
    parentPort.postMessage({ rows })
  } finally {
    db.close()
  }
} catch ({ message, code, errcode }) {
  parentPort.postMessage({ error: { message, code, errcode } })
}
`

type Row = Readonly<Record<string, unknown>>
type Message =
  | { readonly rows: readonly Row[] }
  | { readonly error: { readonly message: string; readonly code?: unknown; readonly errcode?: unknown } }

/**
 * Run statements in a thread of their own. Throws SQLite's error.
 *
 * @param signal aborting it ends the wait, with no rows. SQLite ends its statement by itself
 * @returns the rows of the last one
 */
export const inThread = (work: LongWork, signal?: SignalLike): Promise<readonly Row[]> =>
  new Promise((resolve, reject) => {
    const thread = new Worker(code, { eval: true, workerData: work, execArgv: [], stdout: false })
    thread.once('message', (message: Message) => {
      if ('rows' in message) return resolve(message.rows)
      const { message: text, ...codes } = message.error
      reject(Object.assign(new Error(text), codes)) // an error that is sent to another thread loses its codes
    })
    thread.once('error', reject)
    thread.once('exit', () => reject(new Error('the thread ended before its statement')))
    const abandon = (): void => {
      thread.unref()
      resolve([])
    }
    signal?.addEventListener('abort', abandon)
    thread.once('exit', () => signal?.removeEventListener('abort', abandon))
  })

/** Whether a statement over the whole file is as short as one slice of rows. */
export const isSmall = (file: string): boolean =>
  ['', '-wal'].reduce((sum, end) => sum + (statSync(file + end, { throwIfNoEntry: false })?.size ?? 0), 0) <= sliceBytes

/** The path of the file of a connection, after links. */
export const fileOf = (db: DatabaseSync): string => {
  const { file } = db.prepare("select file from pragma_database_list where name = 'main'").get() as {
    readonly file: string
  }
  return file
}

/**
 * Rewrite a whole file without its free space, and empty its write-ahead log as far as other connections let it. A large
 * file is rewritten in a thread. No transaction may be open on the connection.
 *
 * @param wait how long to wait for another connection, in milliseconds
 */
export const rewriteFile = async (db: DatabaseSync, wait: number): Promise<void> => {
  const file = fileOf(db)
  if (isSmall(file)) return patiently(wait, () => db.exec('vacuum'))
  const emptying = ['pragma busy_timeout = 0', 'pragma wal_checkpoint(truncate)']
  const statements = ['pragma secure_delete = on', 'vacuum', ...emptying]
  await inThread({ file, wait, statements })
}
