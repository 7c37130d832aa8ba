/** How a method of the driver is carried out: finished before a close, tried again, its failure a fault. */
import { left } from 'indelible/json/kit'
import type { Answer } from 'indelible/store/kit'
import type { Database } from './database.ts'
import { faultOf, patiently } from './fault.ts'
import { findLog, type Log } from './log.ts'
import { LogRows } from './rows.ts'
import { damageOr } from './writer.ts'

export class Calls {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** Runs a method's work: a close waits for it, conflicts are retried, and an error becomes a fault. */
  run<T>(operation: string, work: () => Answer<T>): Answer<T> {
    return this.#db.track(async () => {
      try {
        return await patiently(this.#db.place.timeout, work)
      } catch (error) {
        return left(faultOf(error, this.#db.place, operation))
      }
    })
  }

  /** The same for what reads a log. Rows may be gone because the whole log is: that is no damage. */
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
