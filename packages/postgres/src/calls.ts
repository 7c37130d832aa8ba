/** Runs the driver's methods: a close waits for them, conflicts are retried, and errors become faults. */
import { isLeft, left } from 'indelible/internal/json'
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
    return this.run(operation, () => orDamaged(id, work))
  }

  /** Like `run`, for a method that reads a log. If rows are missing because the log was removed, that is not damage. */
  onLog<T>(operation: string, scope: string, id: string, work: (log: Log, rows: LogRows) => Answer<T>): Answer<T> {
    const { read, schema } = this.#db
    return this.onId(operation, id, async () => {
      const log = await findLog(read, schema, scope, id)
      if (log === undefined) return left({ _tag: 'NoSuchLog', id })
      const answer = await orDamaged(id, () => work(log, new LogRows(read, schema, scope, log)))
      if (!isLeft(answer) || answer.left._tag !== 'DamagedLog') return answer
      const again = await findLog(read, schema, scope, id)
      return again?.key === log.key ? answer : left({ _tag: 'NoSuchLog', id })
    })
  }
}

const orDamaged = async <T>(id: string, work: () => Answer<T>): Answer<T> => {
  try {
    return await work()
  } catch (error) {
    const damage = damageOr(error, id)
    if (damage === undefined) throw error
    return left(damage)
  }
}
