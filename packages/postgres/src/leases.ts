/**
 * Leases in the database. They use the server's clock, so the clocks of machines need not agree.
 *
 * Each change is one statement: it changes the lease if the rules of `changeLease` allow that, and reads the lease and the
 * head of the log. The rules are applied to what was read, for the answer of a statement that changed nothing.
 *
 * The log is locked against removal first, then the lease, then the head of the log: an append that has the lease is
 * committed before, so the head includes it.
 */
import { isLeft, left, right } from 'indelible/internal/json'
import {
  claimFault,
  type Answer,
  changeLease,
  claims,
  type LeaseAnswer,
  type LeaseChange,
  type LeaseClaim,
  type LeaseRow,
  type StoreFault,
} from 'indelible/internal/store'
import type { Database, Query, Rows } from './database.ts'
import { headIn } from './log.ts'

/** A log's lease, and the server's time. */
interface FoundLease {
  readonly row: LeaseRow | undefined
  readonly now: number
}

export class Leases {
  readonly #db: Database
  readonly #texts: Readonly<Record<LeaseChange['type'], string>>
  /** The largest number that was given to a lease. */
  #latest = 0

  constructor(db: Database) {
    this.#db = db
    this.#texts = leaseTexts(db.schema)
  }

  async change(scope: string, id: string, change: LeaseChange): Answer<LeaseAnswer> {
    for (;;) {
      const [found] = await this.#db[change.type === 'look' ? 'read' : 'write'](this.#texts[change.type], [
        scope,
        id,
        ...this.#valuesOf(change),
      ])
      if (found === undefined) return left({ _tag: 'NoSuchLog', id })
      const head = headIn(found)
      const changed = rowOf(found, 'new_')
      if (change.type === 'take') this.#latest = Math.max(this.#latest, changed?.number ?? 0)
      const now = nowOf(found)
      const outcome =
        changed === undefined
          ? changeLease(id, rowOf(found), change, now)
          : changeLease(id, changed, { type: 'look' }, Math.min(now, changed.expires - 1)) // as of the change
      if (isLeft(outcome)) return outcome
      if (outcome.right.row === undefined) return right({ lease: outcome.right.lease, head })
      // The lease was changed between, so that the statement could not: what it is now decides.
    }
  }

  #valuesOf(change: LeaseChange): readonly unknown[] {
    if (change.type === 'take') return [change.holder, change.ttl, this.#latest + 1]
    if (change.type === 'renew') return [change.number, change.ttl]
    return change.type === 'release' ? [change.number] : []
  }

  /** The fault of a change that the lease forbids, as of now. */
  async against(query: Query, scope: string, id: string, claim: LeaseClaim): Promise<StoreFault | undefined> {
    const found = claims(claim) ? await this.#find(query, scope, id) : undefined
    return found && claimFault(id, found.row, claim, found.now)
  }

  /** Undefined if there is no such log. */
  async #find(query: Query, scope: string, id: string): Promise<FoundLease | undefined> {
    const [found] = await query(this.#texts.look, [scope, id])
    return found && { row: rowOf(found), now: nowOf(found) }
  }
}

/** The statement of each change. Its values: the scope, the id, and those of `#valuesOf`. */
const leaseTexts = (schema: string): Readonly<Record<LeaseChange['type'], string>> => {
  const columns = (table: string, prefix = ''): string =>
    `${table}.number as ${prefix}number, ${table}.holder as ${prefix}holder, ${table}.stop_requested as ${prefix}stop_requested,
     extract(epoch from ${table}.expires)::float8 * 1000 as ${prefix}expires`
  const now = 'extract(epoch from clock_timestamp())::float8 * 1000 as now'
  const logAndLease = `${schema}.log l left join ${schema}.lease s on s.scope = l.scope and s.log = l.key`
  /** @param locks whether the head has to be that after the change: a renewal needs none, and locks no log */
  const changing = (change: string, which = '', locks = true): string => `with found as materialized (
      select l.key from ${schema}.log l where l.scope = $1::text and l.id = $2::text ${which} ${locks ? 'for key share' : ''}
    ), changed as (${change} returning s.log, ${columns('s', 'new_')}
    ), head as materialized (
      select l.size, l.root from changed c join ${schema}.log l on l.scope = $1::text and l.key = c.log ${locks ? 'for share of l' : ''}
    )
    select coalesce(h.size, l.size) as size, coalesce(h.root, l.root) as root,
      c.new_number, c.new_holder, c.new_stop_requested, c.new_expires, ${columns('s')}, ${now}
    from ${logAndLease} left join changed c on c.log = l.key left join head h on true
    where l.scope = $1::text and l.id = $2::text`
  const updating = (set: string, which: string, locks = false): string =>
    changing(
      `update ${schema}.lease s set ${set} from found where s.scope = $1::text and s.log = found.key and ${which}`,
      '',
      locks,
    )
  const after = (value: string): string =>
    `date_trunc('milliseconds', clock_timestamp()) + ${value}::float8 * interval '1 millisecond'`
  const own = 's.number = $3::bigint and s.holder is not null'
  const isLive = 's.holder is not null and s.expires > clock_timestamp()'
  return {
    look: `select l.size, l.root, ${columns('s')}, ${now} from ${logAndLease} where l.scope = $1::text and l.id = $2::text`,
    // A lease that is held takes no lock: others ask for it again and again.
    take: changing(
      `insert into ${schema}.lease as s (scope, log, number, holder, expires, stop_requested)
       select $1::text, key, greatest(floor(extract(epoch from clock_timestamp()) * 1000)::bigint, $5::bigint), $3::text, ${after('$4')}, false
       from found
       on conflict (scope, log) do update set holder = excluded.holder, expires = excluded.expires, stop_requested = false,
         number = case when s.number > 0 then s.number + 1 else excluded.number end
       where s.holder is null or s.expires <= clock_timestamp()`,
      `and not exists (select 1 from ${schema}.lease s where s.scope = l.scope and s.log = l.key and ${isLive})`,
    ),
    renew: updating(`expires = ${after('$4')}`, own),
    release: updating('holder = null', own, true),
    stop: updating('stop_requested = true', isLive),
  }
}

const nowOf = ({ now }: Rows[number]): number => Math.floor(Number(now))

/** The lease in the columns with a prefix; undefined if there is none. */
const rowOf = (found: Rows[number], prefix = ''): LeaseRow | undefined => {
  const number = found[`${prefix}number`]
  if (number === null || number === undefined) return undefined
  const holder = found[`${prefix}holder`]
  return {
    number: Number(number),
    holder: typeof holder === 'string' ? holder : undefined,
    expires: Math.round(Number(found[`${prefix}expires`])),
    stopRequested: found[`${prefix}stop_requested`] === true,
  }
}
