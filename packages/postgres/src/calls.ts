/** Runs the driver's methods: a close waits for them, conflicts are retried, and errors become faults. */
import { left } from 'indelible/internal/json'
import type { Answer } from 'indelible/internal/store'
import type { Database } from './database.ts'
import { faultOf, retryUntil } from './fault.ts'
import { findLog, type Log } from './log.ts'
import { LogRows } from './rows.ts'
import { damageOr } from './writer.ts'

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
        return left(faultOf(error, this.#db.place, operation))
      }
    })
  }

  /** Like `run`, for a method that reads a log by its id alone. */
  onId<T>(operation: string, id: string, work: () => Answer<T>): Answer<T> {
    return this.run(operation, async () => {
      try {
        return await work()
      } catch (error) {
        const damage = damageOr(error, id)
        if (damage === undefined) throw error
        return left(damage)
      }
    })
  }

  /** Like `run`, for a method that reads a log. If rows are missing because the log was removed, that is not damage. */
  onLog<T>(operation: string, scope: string, id: string, work: (log: Log, rows: LogRows) => Answer<T>): Answer<T> {
    return this.run(operation, () => this.#withLog(scope, id, work))
  }

  async #withLog<T>(scope: string, id: string, work: (log: Log, rows: LogRows) => Answer<T>): Answer<T> {
    const { schema } = this.#db.place
    let log: Log | undefined
    try {
      log = await findLog(this.#db.read, schema, scope, id)
    } catch (error) {
      const damage = damageOr(error, id)
      if (damage === undefined) throw error
      return left(damage)
    }
    if (log === undefined) return left({ _tag: 'NoSuchLog', id })
    try {
      return await work(log, new LogRows(this.#db.read, schema, scope, log))
    } catch (error) {
      const damage = damageOr(error, id)
      if (damage === undefined) throw error
      const again = await findLog(this.#db.read, schema, scope, id)
      return left(again?.key === log.key ? damage : { _tag: 'NoSuchLog', id })
    }
  }
}
