/**
 * The one writer of a handle: what waits together is one transaction, and one sync of the disk.
 *
 * Transactions run on the main thread, where a batch takes a millisecond or two; the sync, which is what takes long,
 * runs beside it in the thread pool (bench: stores; RESULTS.md has what lost).
 */
import { reasonOf } from '../../task/index.ts'
import { closeSync, fdatasync, openSync, statSync } from 'node:fs'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from '../../json/index.ts'
import type { StoreFault } from '../fault.ts'
import type { OnNotice } from '../port/notice.ts'
import { busy, codeOf, faultOf, full, locked } from './fault.ts'
import { readersOf } from './long-reads.ts'
import { logLimit, patiently, rollBack } from './open.ts'

interface Job {
  readonly work: () => Either<StoreFault, unknown>
  readonly bytes: number
  readonly answer: (result: Either<StoreFault, unknown>) => void
  /** Whether it runs outside a transaction. */
  readonly alone?: true
}

export interface WriterOptions {
  readonly path: string
  readonly durability: 'disk' | 'os'
  /** Milliseconds to wait for another process's lock. */
  readonly wait: number
  readonly onNotice: OnNotice
}

/** The write-ahead log is looked at once in so many transactions. */
const transactionsBetweenChecks = 64

/** How many jobs are written before other work gets a turn. */
const batchJobs = 64
const batchBytes = 1 << 20

/**
 * A commit failed, and nothing was left to roll back. SQLite says that it has rolled back by itself; for want of space it
 * surely has. After another error the log may hold the commit, and the next to recover it finds it.
 */
class Unsure extends Error {}

/** Another file stands at the path, or none, or one that was cut to nothing. */
class FileReplaced extends Error {}

export class Writer {
  readonly #db: DatabaseSync
  readonly #options: WriterOptions
  readonly #walPath: string
  readonly #begin: StatementSync
  readonly #end: StatementSync
  #queue: Job[] = []
  #flushing: Promise<void> | undefined
  #wal: number | undefined
  #writing = false
  readonly #file: string | undefined
  #transactions = 0
  /** The number of the latest transaction. */
  transaction = 0
  /** The size in bytes at which the write-ahead log is reported. */
  #tellAt = logLimit
  /** The disk has refused a sync: what is on it is not known, so nothing is written any more. */
  #broken: StoreFault | undefined

  constructor(db: DatabaseSync, options: WriterOptions) {
    this.#db = db
    this.#options = options
    // As SQLite names it: the path that was given may be a link, and the log stands beside what it leads to.
    const { file } = db.prepare("select file from pragma_database_list where name = 'main'").get() as {
      readonly file: string
    }
    this.#walPath = `${file}-wal`
    this.#begin = db.prepare('begin immediate')
    this.#end = db.prepare('commit')
    this.#file = fileAt(options.path)
  }

  /**
   * Run `work` in a transaction. A `Left` must be decided before anything is written.
   *
   * @param bytes how much it is going to write, roughly
   */
  write<T>(work: () => Either<StoreFault, T>, bytes = 0): Promise<Either<StoreFault, T>> {
    return new Promise((resolve) => {
      this.#queue.push({ work, bytes, answer: resolve as Job['answer'] })
      this.#flushing ??= this.#flush()
    })
  }

  /** Do something that can't be part of a transaction, while none is going on. */
  outside<T>(work: () => T): Promise<Either<StoreFault, T>> {
    return new Promise((resolve) => {
      this.#queue.push({ work: () => right(work()), bytes: 0, answer: resolve as Job['answer'], alone: true })
      this.#flushing ??= this.#flush()
    })
  }

  /** Milliseconds to wait for another process's lock. */
  get wait(): number {
    return this.#options.wait
  }

  /** Whether a transaction is going on, which may yet be rolled back. */
  get writing(): boolean {
    return this.#writing
  }

  /** Everything that waits, done. */
  async end(): Promise<void> {
    while (this.#flushing !== undefined) await this.#flushing
    if (this.#wal !== undefined) closeSync(this.#wal)
    this.#wal = undefined
  }

  async #flush(): Promise<void> {
    await undefined // what is asked for at the same moment shares a transaction
    while (this.#queue.length > 0) await this.#commit(this.#nextBatch())
    this.#flushing = undefined
  }

  #nextBatch(): readonly Job[] {
    let bytes = 0
    let count = 0
    for (const job of this.#queue) {
      if (count > 0 && job.alone === true) break
      if (count === batchJobs || (count > 0 && bytes + job.bytes > batchBytes)) break
      bytes += job.bytes
      count += 1
      if (job.alone === true) break
    }
    return this.#queue.splice(0, count)
  }

  async #commit(batch: readonly Job[]): Promise<void> {
    if (this.#broken !== undefined) return this.#refuse(batch, this.#broken)
    let results: readonly Either<StoreFault, unknown>[]
    try {
      results = await patiently(this.#options.wait, () => this.#transaction(batch))
    } catch (error) {
      if (error instanceof FileReplaced) {
        this.#broken = { _tag: 'FileReplaced', path: this.#options.path }
        return this.#refuse(batch, this.#broken)
      }
      if (error instanceof Unsure)
        return this.#refuse(batch, { _tag: 'Io', operation: 'commit', cause: error.cause, outcome: 'unknown' })
      const code = codeOf(error)
      if (batch.length > 1 && code !== busy && code !== locked) {
        // One of them can't be written, and must not take the others with it.
        for (const job of batch) await this.#commit([job])
        return
      }
      return this.#refuse(
        batch,
        code === busy || code === locked
          ? { _tag: 'Busy', waited: this.#options.wait }
          : faultOf(error, this.#options.path, 'write'),
      )
    }
    if (this.#wal !== undefined && results.some((result) => !isLeft(result))) {
      try {
        await this.#sync(this.#wal)
      } catch (cause) {
        // It is committed, and anybody may have read it. Whether the disk has it is seen when the file is opened again.
        const reason = reasonOf(cause)
        const why = `the disk has refused a sync before (${reason}); nothing was changed: open the store again`
        this.#broken = { _tag: 'Io', operation: 'write', cause: new Error(why, { cause }) }
        const unsure: StoreFault = { _tag: 'Io', operation: 'sync to the disk', cause, outcome: 'unknown' }
        results = results.map((result) => (isLeft(result) ? result : left(unsure)))
      }
    }
    if (++this.#transactions % transactionsBetweenChecks === 0) this.#lookAtLog()
    for (const [index, { answer }] of batch.entries()) answer(results[index] as Either<StoreFault, unknown>)
  }

  /** Names the process that reads an earlier state of the file and so keeps its write-ahead log from being emptied. */
  #lookAtLog(): void {
    const bytes = statSync(this.#walPath, { throwIfNoEntry: false })?.size ?? 0
    if (bytes <= logLimit) this.#tellAt = logLimit
    if (bytes <= this.#tellAt) return
    const readers = readersOf(this.#walPath)
    if (readers?.length === 0) return // it is long, and is going to be emptied
    this.#tellAt = bytes * 2
    this.#options.onNotice({ _tag: 'LogGrows', path: this.#options.path, bytes, readers: readers ?? [] })
  }

  #refuse(batch: readonly Job[], fault: StoreFault): void {
    for (const { answer } of batch) answer(left(fault))
  }

  #transaction(batch: readonly Job[]): readonly Either<StoreFault, unknown>[] {
    const [first] = batch
    if (first?.alone === true) {
      this.#checkFile()
      return [first.work()]
    }
    let committing = false
    this.#writing = true
    this.transaction += 1
    try {
      this.#begin.run()
      const results = batch.map(({ work }) => work())
      // Before the commit: a file that can't be opened must not make a doubt of what is committed.
      if (this.#options.durability === 'disk') this.#wal ??= openSync(this.#walPath, 'r+')
      this.#checkFile()
      committing = true
      this.#end.run()
      return results
    } catch (error) {
      const open = rollBack(this.#db)
      if (!committing) this.#checkFile() // then that is why
      throw committing && !open && codeOf(error) !== full ? new Unsure('a commit failed', { cause: error }) : error
    } finally {
      this.#writing = false
    }
  }

  /** Throws Replaced. What is refused is not committed: whoever reads by this connection must not see it either. */
  #checkFile(): void {
    if (fileAt(this.#options.path) !== this.#file) throw new FileReplaced()
  }

  #sync(file: number): Promise<void> {
    return new Promise((resolve, reject) => fdatasync(file, (error) => (error === null ? resolve() : reject(error))))
  }
}

/** The identity of the file at a path; undefined if there is none, or an empty one, because a store is never empty. */
const fileAt = (path: string): string | undefined => {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found === undefined || found.size === 0n ? undefined : `${found.dev}:${found.ino}`
}
