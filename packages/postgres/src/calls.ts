/** Runs the driver's methods: a close waits for them, conflicts are retried, and errors become faults. */
import { left } from 'indelible/internal/json'
import type { Answer } from 'indelible/internal/store'
import type { Database } from './database.ts'
import { faultOf, Refused, retryUntil } from './fault.ts'
import { findLog, type Log } from './log.ts'
import type { LogRows } from './rows.ts'
import { orDamaged, readingLog } from './writer.ts'

export class Calls {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** Runs a method: a close waits for it, conflicts are retried, and an error becomes a fault. */
  run<T>(operation: string, work: () => Answer<T>): Answer<T> {
    return this.#db.track(async () => {
      try {
        return await retryUntil(this.#db.place.timeout, work)
      } catch (error) {
        return left(error instanceof Refused ? error.fault : faultOf(error, this.#db.place, operation))
      }
    })
  }

  /** Like `run`, for a method that reads a log by its id alone. */
  onId<T>(operation: string, id: string, work: () => Answer<T>): Answer<T> {
    return this.run(operation, () => orDamaged(id, work))
  }

  /** Like `run`, for a method that reads a log. If rows are missing because the log was removed, that is not damage. */
  onLog<T>(operation: string, scope: string, id: string, work: (log: Log, rows: LogRows) => Answer<T>): Answer<T> {
    const { read, schema } = this.#db
    return this.onId(operation, id, async () => {
      const log = await findLog(read, schema, scope, id)
      if (log === undefined) return left({ _tag: 'NoSuchLog', id })
      return readingLog(this.#db, scope, log, (rows) => work(log, rows))
    })
  }
}
