/**
 * The single writer of a handle. Concurrent writes share one transaction and one sync.
 *
 * Transactions run on the main thread, where a batch takes a millisecond or two. The sync takes
 * long, and runs in the thread pool (bench: stores; RESULTS.md has the rejected alternatives).
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
import { fileOf } from './thread.ts'

interface Job {
  readonly work: () => Either<StoreFault, unknown>
  readonly bytes: number
  readonly answer: (result: Either<StoreFault, unknown>) => void
  /** True if it runs outside a transaction. */
  readonly alone?: true
}

interface WriterOptions {
  readonly path: string
  readonly durability: 'disk' | 'os'
  /** How long to wait for another process's lock, in milliseconds. */
  readonly wait: number
  readonly onNotice: OnNotice
}

/** The size of the write-ahead log is checked once in this many transactions. */
const transactionsBetweenChecks = 64

/** The maximum number of jobs in one transaction, before other work gets a turn. */
const batchJobs = 64
const batchBytes = 1 << 20

/**
 * A commit failed, and no transaction was left to roll back. SQLite then claims to have rolled back. If the disk
 * was full, it has. After another error, the log may still contain the commit, and a later recovery applies it.
 */
class UncertainCommit extends Error {}

/** Thrown by work that has written something before it fails: nothing of it is committed. */
export class FailedWrite extends Error {
  readonly fault: StoreFault

  constructor(fault: StoreFault) {
    super('a write failed')
    this.fault = fault
  }
}

/** The path has another file, an empty file, or none. */
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
  readonly #onRollBack: (() => void)[] = []
  /** The size in bytes at which the growing write-ahead log is reported. */
  #tellAt = logLimit
  /** The fault of all further writes: the file was replaced, or a sync failed, so the state of the disk is unknown. */
  #broken: StoreFault | undefined

  constructor(db: DatabaseSync, options: WriterOptions) {
    this.#db = db
    this.#options = options
    // The real path of the file: the given path may be a link, and the log is beside its target.
    this.#walPath = `${fileOf(db)}-wal`
    this.#begin = db.prepare('begin immediate')
    this.#end = db.prepare('commit')
    this.#file = fileAt(options.path)
  }

  /**
   * Run `work` in a transaction. If it returns a `Left`, it must not have written anything.
   *
   * @param bytes the approximate number of bytes it will write
   */
  write<T>(work: () => Either<StoreFault, T>, bytes = 0): Promise<Either<StoreFault, T>> {
    return new Promise((resolve) => {
      this.#queue.push({ work, bytes, answer: resolve as Job['answer'] })
      this.#flushing ??= this.#flush()
    })
  }

  /** Run work that can't be part of a transaction, while none is open. Other writes wait until it has ended. */
  outside<T>(work: () => T | Promise<T>): Promise<Either<StoreFault, T>> {
    return new Promise((resolve) => {
      this.#queue.push({ work: () => right(work()), bytes: 0, answer: resolve as Job['answer'], alone: true })
      this.#flushing ??= this.#flush()
    })
  }

  /** Call a function after each transaction that may not be committed: it forgets what was read in it. */
  onRollBack(forget: () => void): void {
    this.#onRollBack.push(forget)
  }

  /** Milliseconds to wait for another process's lock. */
  get wait(): number {
    return this.#options.wait
  }

  /** Whether a transaction is open, which may still be rolled back. */
  get writing(): boolean {
    return this.#writing
  }

  /** Wait for all pending writes, and close the log file. */
  async end(): Promise<void> {
    while (this.#flushing !== undefined) await this.#flushing
    if (this.#wal !== undefined) closeSync(this.#wal)
    this.#wal = undefined
  }

  async #flush(): Promise<void> {
    await undefined // simultaneous calls share a transaction
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
      const [first] = results
      if (batch[0]?.alone === true && first !== undefined && !isLeft(first)) results = [right(await first.right)]
    } catch (error) {
      if (error instanceof FileReplaced) {
        this.#broken = { _tag: 'FileReplaced', path: this.#options.path }
        return this.#refuse(batch, this.#broken)
      }
      if (error instanceof UncertainCommit)
        return this.#refuse(batch, { _tag: 'Io', operation: 'commit', cause: error.cause, outcome: 'unknown' })
      const code = codeOf(error)
      if (batch.length > 1 && code !== busy && code !== locked) {
        // One job can't be written. It must not make the others fail.
        for (const job of batch) await this.#commit([job])
        return
      }
      return this.#refuse(
        batch,
        error instanceof FailedWrite
          ? error.fault
          : code === busy || code === locked
            ? { _tag: 'Busy', waited: this.#options.wait }
            : faultOf(error, this.#options.path, 'write'),
      )
    }
    if (this.#wal !== undefined && results.some((result) => !isLeft(result))) {
      try {
        await this.#sync(this.#wal)
      } catch (cause) {
        // It is committed, and others may have read it. Only reopening the file shows whether it is on disk.
        const reason = reasonOf(cause)
        const why = `an earlier sync to the disk failed (${reason}); nothing was changed: open the store again`
        this.#broken = { _tag: 'Io', operation: 'write', cause: new Error(why, { cause }) }
        const unsure: StoreFault = { _tag: 'Io', operation: 'sync to the disk', cause, outcome: 'unknown' }
        results = results.map((result) => (isLeft(result) ? result : left(unsure)))
      }
    }
    if (++this.#transactions % transactionsBetweenChecks === 0) this.#lookAtLog()
    for (const [index, { answer }] of batch.entries()) answer(results[index] as Either<StoreFault, unknown>)
  }

  /** Reports a growing write-ahead log, with the processes whose reads keep it from being emptied. */
  #lookAtLog(): void {
    const bytes = statSync(this.#walPath, { throwIfNoEntry: false })?.size ?? 0
    if (bytes <= logLimit) this.#tellAt = logLimit
    if (bytes <= this.#tellAt) return
    const readers = readersOf(this.#walPath)
    if (readers?.length === 0) return // no reader holds it, so it will be emptied
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
      // Before the commit: if this fails, nothing is committed, so the outcome is certain.
      if (this.#options.durability === 'disk') this.#wal ??= openSync(this.#walPath, 'r+')
      this.#checkFile()
      committing = true
      this.#end.run()
      return results
    } catch (error) {
      const open = rollBack(this.#db)
      for (const forget of this.#onRollBack) forget()
      if (!committing) this.#checkFile() // if the file was replaced, that is the reason
      throw committing && !open && codeOf(error) !== full
        ? new UncertainCommit('a commit failed', { cause: error })
        : error
    } finally {
      this.#writing = false
    }
  }

  /** Throws FileReplaced. This comes before the commit, so that this connection never reads a refused write. */
  #checkFile(): void {
    if (fileAt(this.#options.path) !== this.#file) throw new FileReplaced()
  }

  #sync(file: number): Promise<void> {
    return new Promise((resolve, reject) => fdatasync(file, (error) => (error === null ? resolve() : reject(error))))
  }
}

/** The identity of the file at a path; undefined if it is missing or empty. A store is never empty. */
const fileAt = (path: string): string | undefined => {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found === undefined || found.size === 0n ? undefined : `${found.dev}:${found.ino}`
}
