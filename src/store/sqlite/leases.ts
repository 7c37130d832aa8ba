/**
 * Leases in the file. They use the machine's clock, not the store's `now`, because all processes
 * must agree on the time.
 */
import type { DatabaseSync } from 'node:sqlite'
import { isLeft, right } from '../../json/index.ts'
import { Damaged } from '../port/damage-error.ts'
import type { Answer } from '../port/driver.ts'
import type { StoreFault } from '../fault.ts'
import {
  claimFault,
  changeLease,
  claims,
  type LeaseAnswer,
  type LeaseChange,
  type LeaseClaim,
  type LeaseRow,
} from '../port/lease.ts'
import { headIn, type LogRow } from './log.ts'
import type { Logs } from './logs.ts'
import { prepareAllOnce } from './prepared.ts'
import type { Writer } from './writer.ts'

export class Leases {
  readonly #writer: Writer
  readonly #logs: Logs
  readonly #sql: ReturnType<typeof statements>
  #latest = 0

  constructor(db: DatabaseSync, writer: Writer, logs: Logs) {
    this.#writer = writer
    this.#logs = logs
    this.#sql = statements(db)
  }

  /** Decides with a read first, so that a call without a change takes no lock. */
  async change(scope: string, id: string, change: LeaseChange): Answer<LeaseAnswer> {
    const first = this.#logs.on(scope, id, (log) => {
      const outcome = changeLease(id, this.#rowOf(log), change, Date.now())
      return isLeft(outcome) ? outcome : right({ ...outcome.right, head: headIn(log) })
    })
    if (isLeft(first)) return first
    const { row: foreseen, ...answer } = first.right
    if (foreseen === undefined) return right(answer)
    return this.#writer.write(() =>
      this.#logs.on(scope, id, (log) => {
        const outcome = changeLease(id, this.#rowOf(log), change, Date.now(), this.#latest)
        if (isLeft(outcome)) return outcome
        const { row, lease } = outcome.right
        this.#latest = Math.max(this.#latest, row?.number ?? 0)
        if (row !== undefined)
          this.#sql.put().run(log.key, row.number, row.holder ?? null, row.expires, row.stopRequested ? 1 : 0)
        return right({ lease, head: headIn(log) })
      }),
    )
  }

  /** The fault of a change that the lease forbids. */
  against(log: LogRow, claim: LeaseClaim): StoreFault | undefined {
    return claims(claim) ? claimFault(log.id, this.#rowOf(log), claim, Date.now()) : undefined
  }

  #rowOf(log: LogRow): LeaseRow | undefined {
    const found = this.#sql.find().get(log.key)
    if (found === undefined) return undefined
    const { number, holder, expires, stop_requested: stop } = found
    if (typeof number !== 'number' || typeof expires !== 'number' || (holder !== null && typeof holder !== 'string'))
      throw new Damaged(log.size, 'its lease can not be read')
    return { number, holder: holder ?? undefined, expires, stopRequested: stop === 1 }
  }
}

const statements = (db: DatabaseSync) =>
  prepareAllOnce(db, {
    find: 'select number, holder, expires, stop_requested from lease where log = ?',
    put: 'insert or replace into lease (log, number, holder, expires, stop_requested) values (?, ?, ?, ?, ?)',
  })
