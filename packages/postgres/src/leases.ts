/** Leases in the database. They use the server's clock, so the clocks of machines need not agree. */
import { isLeft, left, right } from 'indelible/internal/json'
import {
  claimFault,
  type Answer,
  changeLease,
  claims,
  type Lease,
  type LeaseChange,
  type LeaseClaim,
  type LeaseRow,
  type StoreFault,
} from 'indelible/internal/store'
import type { Database, Query, Rows } from './database.ts'

/** A log's lease, and the server's time. */
interface FoundLease {
  readonly key: string
  readonly row: LeaseRow | undefined
  readonly now: number
}

export class Leases {
  readonly #db: Database
  #latest = 0

  constructor(db: Database) {
    this.#db = db
  }

  /** Decides with a read first, so that a call without a change takes no lock. */
  async change(scope: string, id: string, change: LeaseChange): Answer<Lease | undefined> {
    const first = await this.#find(this.#db.read, scope, id)
    if (first === undefined) return left({ _tag: 'NoSuchLog', id })
    const foreseen = changeLease(id, first.row, change, first.now)
    if (isLeft(foreseen)) return foreseen
    if (foreseen.right.row === undefined) return right(foreseen.right.lease)
    return this.#db.transaction(async (query): Answer<Lease | undefined> => {
      // Adds a row to lock. Waits for a concurrent removal of the log; then there is none.
      await query(
        `insert into ${this.#db.schema}.lease (scope, log, number, holder, expires)
         select scope, key, 0, null, clock_timestamp() from ${this.#db.schema}.log where scope = $1::text and id = $2::text for key share
         on conflict (scope, log) do nothing`,
        [scope, id],
      )
      await query(
        `select number from ${this.#db.schema}.lease
         where scope = $1::text and log = (select key from ${this.#db.schema}.log where scope = $1::text and id = $2::text) for update`,
        [scope, id],
      )
      const found = await this.#find(query, scope, id) // the time after the wait
      if (found === undefined) return left({ _tag: 'NoSuchLog', id })
      const outcome = changeLease(id, found.row, change, found.now, this.#latest)
      if (isLeft(outcome)) return outcome
      const { row, lease } = outcome.right
      this.#latest = Math.max(this.#latest, row?.number ?? 0)
      if (row !== undefined)
        await query(
          `update ${this.#db.schema}.lease set number = $3::bigint, holder = $4::text, expires = to_timestamp($5::float8 / 1000), stop_requested = $6::boolean
           where scope = $1::text and log = $2::bigint`,
          [scope, found.key, row.number, row.holder ?? null, row.expires, row.stopRequested],
        )
      return right(lease)
    })
  }

  /** The fault of a change that the lease forbids, as of now. */
  async against(query: Query, scope: string, id: string, claim: LeaseClaim): Promise<StoreFault | undefined> {
    const found = claims(claim) ? await this.#find(query, scope, id) : undefined
    return found && claimFault(id, found.row, claim, found.now)
  }

  /** Undefined if there is no such log. */
  async #find(query: Query, scope: string, id: string): Promise<FoundLease | undefined> {
    const [found] = await query(
      `select l.key, s.number, s.holder, s.stop_requested, extract(epoch from s.expires)::float8 * 1000 as expires, extract(epoch from clock_timestamp())::float8 * 1000 as now
       from ${this.#db.schema}.log l left join ${this.#db.schema}.lease s on s.scope = l.scope and s.log = l.key
       where l.scope = $1::text and l.id = $2::text`,
      [scope, id],
    )
    return found && { key: String(found['key']), row: rowOf(found), now: Math.floor(Number(found['now'])) }
  }
}

const rowOf = ({ number, holder, expires, stop_requested: stop }: Rows[number]): LeaseRow | undefined =>
  number === null
    ? undefined
    : {
        number: Number(number),
        holder: typeof holder === 'string' ? holder : undefined,
        expires: Math.round(Number(expires)),
        stopRequested: stop === true,
      }
