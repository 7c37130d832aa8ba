/**
 * How long the event loop is held up while 64 logs are appended to as fast as they answer: why the SQLite store writes on
 * the main thread, and syncs beside it. The three ways write the same rows by the same group commit, without a store
 * around them; the store itself stands last.
 */
import { fdatasync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { Head } from 'indelible/store'
import { sqliteStore } from 'indelible/store/sqlite'
import { machine } from './measure.ts'
import { messageAt, source } from './messages.ts'

type Append = (log: number, body: string) => Promise<unknown>

interface Way {
  readonly name: string
  readonly open: (path: string) => Promise<{ readonly append: Append; readonly close: () => unknown }>
}

const logs = 64
const seconds = process.argv.includes('--quick') ? 1 : 5
const schema =
  'pragma journal_mode = wal; create table if not exists row (id integer primary key, log integer not null, body text not null) strict'
const insert = 'insert into row (log, body) values (?, ?)'

type Row = readonly [log: number, body: string]

/** Appends that wait together are one commit. */
const grouped = (commit: (rows: readonly Row[]) => Promise<void>): Append => {
  let waiting: { readonly row: Row; readonly answer: () => void }[] = []
  let flushing = false
  const flush = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      await commit(batch.map(({ row }) => row))
      for (const { answer } of batch) answer()
    }
    flushing = false
  }
  return (log, body) =>
    new Promise<void>((resolve) => {
      waiting.push({ row: [log, body], answer: resolve })
      if (flushing) return
      flushing = true
      queueMicrotask(() => void flush())
    })
}

const writing = (db: DatabaseSync): ((rows: readonly Row[]) => void) => {
  const statement = db.prepare(insert)
  return (rows) => {
    db.exec('begin immediate')
    for (const row of rows) statement.run(...row)
    db.exec('commit')
  }
}

const ways: readonly Way[] = [
  {
    name: 'main thread, synchronous = full',
    open: async (path) => {
      const db = new DatabaseSync(path)
      db.exec(`${schema}; pragma synchronous = full`)
      const write = writing(db)
      const append = grouped(async (rows) => {
        write(rows)
        await new Promise(setImmediate) // or nobody else would ever get a turn
      })
      return { append, close: () => db.close() }
    },
  },
  {
    name: 'main thread, sync in the thread pool',
    open: async (path) => {
      const db = new DatabaseSync(path)
      db.exec(`${schema}; pragma synchronous = normal`)
      const write = writing(db)
      const wal = openSync(`${path}-wal`, 'r+')
      const append = grouped((rows) => {
        write(rows)
        return new Promise((resolve, reject) => fdatasync(wal, (error) => (error === null ? resolve() : reject(error))))
      })
      return { append, close: () => db.close() }
    },
  },
  {
    name: 'worker thread, synchronous = full',
    open: async (path) => {
      const code = `
        const { parentPort, workerData } = require('node:worker_threads')
        const { DatabaseSync } = require('node:sqlite')
        const db = new DatabaseSync(workerData)
        db.exec(${JSON.stringify(`${schema}; pragma synchronous = full`)})
        const statement = db.prepare(${JSON.stringify(insert)})
        parentPort.on('message', (rows) => {
          db.exec('begin immediate')
          for (const row of rows) statement.run(...row)
          db.exec('commit')
          parentPort.postMessage(null)
        })`
      const worker = new Worker(code, { eval: true, workerData: path })
      const append = grouped(
        (rows) =>
          new Promise((resolve) => {
            worker.once('message', () => resolve())
            worker.postMessage(rows) // oxlint-disable-line unicorn/require-post-message-target-origin -- a worker has no origin
          }),
      )
      return { append, close: () => worker.terminate() }
    },
  },
  {
    name: 'the store',
    open: async (path) => {
      const opened = await sqliteStore({ path })()
      if (isLeft(opened)) throw new Error(opened.left._tag)
      const store = opened.right
      const heads: Head[] = []
      for (let log = 0; log < logs; log++) {
        const created = await store.create({ id: `${log}`, encrypt: false })()
        if (isLeft(created)) throw new Error(created.left._tag)
        heads.push(created.right.head)
      }
      const append: Append = async (log, body) => {
        const done = await store.append(`${log}`, { expected: heads[log] as Head, rows: [{ kind: 'entry', body }] })()
        if (isLeft(done)) throw new Error(done.left._tag)
        heads[log] = done.right.head
      }
      return { append, close: () => store.close()() }
    },
  },
]

const at = (sorted: readonly number[], part: number): string =>
  `${(sorted[Math.floor(sorted.length * part)] ?? NaN).toFixed(1)} ms`

const folder = mkdtempSync(join(tmpdir(), 'indelible-loop-'))
console.log(
  `${machine()}\n${source}; ${logs} logs for ${seconds} seconds. A turn held up is one that came more than 1 ms after the turn before it.\n`,
)
console.log('| | appends a second | one append, median | p99 | time in turns held up | over 10 ms | longest |')
console.log('|---|---:|---:|---:|---:|---:|---:|')
for (const [index, { name, open }] of ways.entries()) {
  const { append, close } = await open(join(folder, `${index}.db`))
  const latencies: number[] = []
  const gaps: number[] = []
  let last = performance.now()
  let going = true
  const tick = (): void => {
    const now = performance.now()
    gaps.push(now - last)
    last = now
    if (going) setImmediate(tick)
  }
  tick()
  const end = performance.now() + seconds * 1000
  await Promise.all(
    Array.from({ length: logs }, async (_, log) => {
      for (let position = log; performance.now() < end; position += logs) {
        const from = performance.now()
        await append(log, JSON.stringify(messageAt(position)))
        latencies.push(performance.now() - from)
      }
    }),
  )
  going = false
  const sorted = latencies.toSorted((a, b) => a - b)
  const share = (limit: number): string =>
    `${((gaps.reduce((sum, gap) => (gap > limit ? sum + gap : sum), 0) / (seconds * 1000)) * 100).toFixed(0)} %`
  console.log(
    `| ${name} | ${Math.round(latencies.length / seconds).toLocaleString('en')} | ${at(sorted, 0.5)} | ${at(sorted, 0.99)} | ${share(1)} | ${share(10)} | ${gaps.reduce((most, gap) => Math.max(most, gap), 0).toFixed(1)} ms |`,
  )
  await close()
}
rmSync(folder, { recursive: true, force: true })
