/**
 * The one writer of a handle: what waits together is one transaction, and one sync of the disk.
 *
 * Transactions run on the main thread, where a batch takes a millisecond or two; the sync, which is what takes long,
 * runs beside it in the thread pool (bench: stores; RESULTS.md has what lost).
 */
import { closeSync, fdatasync, openSync } from 'node:fs'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { isLeft, left, type Either } from 'fp-ts/lib/Either.js'
import type { StoreFault } from '../fault.ts'
import { busy, codeOf, faultOf, locked } from './fault.ts'
import { patiently, rollBack } from './open.ts'

interface Job {
  readonly work: () => Either<StoreFault, unknown>
  readonly bytes: number
  readonly answer: (result: Either<StoreFault, unknown>) => void
}

export interface WriterOptions {
  readonly path: string
  readonly durability: 'disk' | 'os'
  /** Milliseconds to wait for another process's lock. */
  readonly wait: number
}

/** As much as is written before everybody else gets a turn. */
const batchJobs = 64
const batchBytes = 1 << 20

export class Writer {
  readonly #db: DatabaseSync
  readonly #options: WriterOptions
  readonly #begin: StatementSync
  readonly #end: StatementSync
  #queue: Job[] = []
  #flushing: Promise<void> | undefined
  #wal: number | undefined
  #writing = false
  /** The disk has refused a sync: what is on it is not known, so nothing is written any more. */
  #broken: StoreFault | undefined

  constructor(db: DatabaseSync, options: WriterOptions) {
    this.#db = db
    this.#options = options
    this.#begin = db.prepare('begin immediate')
    this.#end = db.prepare('commit')
  }

  /**
   * Run `work` in a transaction. A `Left` must be decided before anything is written.
   *
   * @param bytes how much it is going to write, roughly
   */
  write<T>(work: () => Either<StoreFault, T>, bytes = 0): Promise<Either<StoreFault, T>> {
    return new Promise((resolve) => {
      this.#queue.push({ work, bytes, answer: resolve as Job['answer'] })
      this.#flushing ??= Promise.resolve().then(() => this.#flush())
    })
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
    while (this.#queue.length > 0) await this.#commit(this.#nextBatch())
    this.#flushing = undefined
  }

  #nextBatch(): readonly Job[] {
    let bytes = 0
    let count = 0
    for (const job of this.#queue) {
      if (count === batchJobs || (count > 0 && bytes + job.bytes > batchBytes)) break
      bytes += job.bytes
      count += 1
    }
    return this.#queue.splice(0, count)
  }

  async #commit(batch: readonly Job[]): Promise<void> {
    if (this.#broken !== undefined) return this.#refuse(batch, this.#broken)
    let results: readonly Either<StoreFault, unknown>[]
    try {
      results = await patiently(this.#options.wait, () => this.#transaction(batch))
    } catch (error) {
      const code = codeOf(error)
      if (batch.length > 1 && code !== busy && code !== locked) {
        // One of them can't be written, and must not take the others with it.
        for (const job of batch) await this.#commit([job])
        return
      }
      return this.#refuse(batch, code === busy || code === locked ? { _tag: 'Busy', waited: this.#options.wait } : faultOf(error, this.#options.path, 'write'))
    }
    if (this.#options.durability === 'disk' && results.some((result) => !isLeft(result))) {
      try {
        await this.#sync()
      } catch (error) {
        this.#broken = faultOf(error, this.#options.path, 'sync to the disk')
        return this.#refuse(batch, this.#broken)
      }
    }
    for (const [index, { answer }] of batch.entries()) answer(results[index] as Either<StoreFault, unknown>)
  }

  #refuse(batch: readonly Job[], fault: StoreFault): void {
    for (const { answer } of batch) answer(left(fault))
  }

  #transaction(batch: readonly Job[]): readonly Either<StoreFault, unknown>[] {
    this.#begin.run()
    this.#writing = true
    try {
      const results = batch.map(({ work }) => work())
      this.#end.run()
      return results
    } catch (error) {
      rollBack(this.#db)
      throw error
    } finally {
      this.#writing = false
    }
  }

  #sync(): Promise<void> {
    this.#wal ??= openSync(`${this.#options.path}-wal`, 'r+')
    const file = this.#wal
    return new Promise((resolve, reject) => fdatasync(file, (error) => (error === null ? resolve() : reject(error))))
  }
}
