/** The logs of a schema: adding, describing, forking and removing them. `writer.ts` appends to them. */
import { left, right, type JsonObject } from 'indelible/internal/json'
import { emptyRange, peakEnds, type CompactRange } from 'indelible/internal/proof'
import {
  changedFault,
  forkFault,
  type Answer,
  type CheckedAppend,
  type CheckedUpdate,
  claims,
  entriesBefore,
  hasKey,
  headOf,
  type LogInfo,
  momentOf,
  type UnchangedLog,
} from 'indelible/internal/store'
import { appendStatement, bytesOf, noneOf, planNextAppend } from './append.ts'
import { stateOf, type Database, type Query } from './database.ts'
import { isIndexGone, type Documents } from './documents.ts'
import { foreignKey } from './fault.ts'
import type { Leases } from './leases.ts'
import { findLog, headIn, infoOf, logColumns, logsOf, sizedAt, usedAt, type Log, type Stretch } from './log.ts'
import type { LogRows } from './rows.ts'
import { createdSum, hash, metaSum } from './sum.ts'
import { termsOf } from './terms.ts'
import type { Writer } from './writer.ts'

/** The initial state of a new log. */
interface Origin {
  readonly stretches: readonly Stretch[]
  readonly range: CompactRange
  readonly entries: number
  /** The log that it is forked from. */
  readonly source: Log | undefined
  /** The time of the last row that it is created with. Default: none. */
  readonly appended?: number | undefined
}

const emptyOrigin: Origin = { stretches: [], range: emptyRange, entries: 0, source: undefined }

export class Logs {
  readonly #db: Database
  readonly #writer: Writer
  readonly #leases: Leases
  readonly #documents: Documents
  readonly #now: () => number

  constructor(db: Database, writer: Writer, leases: Leases, documents: Documents, now: () => number) {
    this.#db = db
    this.#writer = writer
    this.#leases = leases
    this.#documents = documents
    this.#now = now
  }

  async create(scope: string, id: string, meta: JsonObject, first: CheckedAppend): Answer<LogInfo> {
    if (first.rows.length > 0) return this.#createWith(scope, id, meta, first)
    const log = await this.#start(this.#db.write, scope, id, emptyOrigin, meta)
    if (log === undefined) return left({ _tag: 'LogExists', id })
    this.#writer.remember(scope, log)
    return right(infoOf(log))
  }

  async update(scope: string, id: string, change: CheckedUpdate): Answer<LogInfo> {
    const { expected, meta, ownKey, lease } = change
    const its = ownKey === undefined ? undefined : await findLog(this.#db.read, this.#db.schema, scope, id)
    if (its !== undefined && !hasKey(its.meta, ownKey)) return left({ _tag: 'NoSuchLog', id })
    const [version, text] = [versionIn(expected), JSON.stringify(meta)]
    const isClaiming = claims(change)
    for (;;) {
      const done = await this.#db.write(updateText(this.#db.schema, isClaiming), [
        scope,
        id,
        version,
        text,
        termsOf(scope, meta),
        metaSum(scope, id, text, version + 1),
        its?.key ?? null,
        ...(isClaiming ? [lease?.number ?? null] : []),
      ])
      const [updated] = logsOf(done)
      if (updated !== undefined) return right(Object.freeze({ ...infoOf(updated), meta }))
      const unleased = await this.#leases.against(this.#db.read, scope, id, change)
      if (unleased !== undefined) return left(unleased)
      const log = await findLog(this.#db.read, this.#db.schema, scope, id)
      if (log === undefined || (its !== undefined && log.key !== its.key)) return left({ _tag: 'NoSuchLog', id })
      if (log.version !== expected)
        return left({ _tag: 'MetaConflict', id, expected, actual: log.version, meta: log.meta })
      // Another holder's lease was in the way, but no longer is: retry.
    }
  }

  async fork(scope: string, log: Log, rows: LogRows, to: string, at: number, meta: JsonObject): Answer<LogInfo> {
    const problem = forkFault(log.id, at, log.head.size)
    if (problem !== undefined) return left(problem)
    const ends = peakEnds(at).map((peakEnd) => peakEnd - 1)
    const found = await rows.at(ends) // the last of them is the last row
    const entries = entriesBefore(at, found.get(at - 1))
    const peaks = ends.map((position) => found.get(position)?.node as Uint8Array) // `at` throws if one is missing
    const stretches = log.stretches.filter(({ base }) => base < at)
    const origin = { stretches, range: { size: at, peaks }, entries, source: log }
    const forked = await this.#start(this.#db.write, scope, to, origin, meta)
    if (forked !== undefined) return right(infoOf(forked))
    const there = await findLog(this.#db.read, this.#db.schema, scope, to)
    return left(there === undefined ? { _tag: 'NoSuchLog', id: log.id } : { _tag: 'LogExists', id: to })
  }

  /** Remove a log with its lease and operations, but not its rows, and return its segment. */
  async remove(scope: string, id: string, unchanged: UnchangedLog | undefined): Answer<number> {
    return this.#db.transaction(async (query): Answer<number> => {
      const s = this.#db.schema
      // Locks the log first, as an erasure does. Creating a log changes the row of the scope.
      const [locked] = await query(`select key from ${s}.log where scope = $1::text and id = $2::text for update`, [
        scope,
        id,
      ])
      // One created since is not removed: it is not locked, so an append could add an operation that the removal does not see.
      if (locked === undefined) return left({ _tag: 'NoSuchLog', id })
      const { key } = locked
      if (unchanged !== undefined) {
        if (unchanged.head === undefined)
          await query(`select 1 from ${s}.scope where name = $1::text for share`, [scope])
        const [other] = await query(
          `select size, root from ${s}.log where scope = $1::text and id = $2::text for share`,
          [scope, unchanged.id],
        )
        const problem = changedFault(unchanged, other && headIn(other), hash)
        if (problem !== undefined) return left(problem)
      }
      const [segment] = await query(
        `with gone as (delete from ${s}.log where scope = $1::text and key = $2::bigint returning key),
         free as (delete from ${s}.lease where scope = $1::text and log in (select key from gone)),
         forgotten as (delete from ${s}.operation where scope = $1::text and log in (select key from gone))
         update ${s}.segment set state = 1 where scope = $1::text and key in (select key from gone) returning key`,
        [scope, key],
      )
      return segment === undefined ? left({ _tag: 'NoSuchLog', id }) : right(Number(segment['key']))
    })
  }

  /** Creates a log with its first rows, inside a transaction. Undefined if it exists. Throws DamagedThere. */
  async createIn(
    run: Query,
    scope: string,
    id: string,
    meta: JsonObject,
    first: CheckedAppend,
  ): Promise<Log | undefined> {
    const made = await this.#start(run, scope, id, { ...emptyOrigin, appended: first.rows.at(-1)?.at }, meta)
    const planned = made && noneOf(made)
    if (planned === undefined || !planNextAppend(planned, first)) return undefined
    const { text, values } = appendStatement(this.#db.schema, scope, [planned], (append, rows) =>
      this.#documents.of(scope, append, rows),
    )
    if ((await run(text, values)).length === 0) throw new StoredBlockDamaged()
    return planned.after
  }

  async #createWith(scope: string, id: string, meta: JsonObject, first: CheckedAppend): Answer<LogInfo> {
    for (;;) {
      try {
        const log = await this.#db.transaction((run) => this.createIn(run, scope, id, meta, first))
        if (log === undefined) return left({ _tag: 'LogExists', id })
        this.#writer.remember(scope, log)
        return right(infoOf(log))
      } catch (error) {
        if (isIndexGone(error)) this.#documents.found(false)
        else if (error instanceof StoredBlockDamaged) await this.#writer.mend(scope, first)
        else {
          const missing = stateOf(error) === foreignKey ? await this.#writer.missing(scope, first) : []
          if (missing.length > 0) return left({ _tag: 'MissingBlock', ids: missing })
          throw error
        }
      }
    }
  }

  /** Adds a log, with the next key of its scope. Undefined if it exists, or if `source` no longer does. */
  async #start(
    run: Query,
    scope: string,
    id: string,
    { stretches, range, entries, source, appended = Infinity }: Origin,
    meta: JsonObject,
  ): Promise<Log | undefined> {
    const head = headOf(range, hash)
    const created = Math.min(momentOf(this.#now), appended)
    const text = JSON.stringify(meta)
    const made = await run(
      `with source as (
         select key from ${this.#db.schema}.log where scope = $1::text and id = $11::text and key = $12::bigint for key share
       ), next as (
         insert into ${this.#db.schema}.scope (name, last) values ($1::text, 1) on conflict (name) do update set last = scope.last + 1 returning last
       ), made as (
         insert into ${this.#db.schema}.log (${logColumns}, scope, used, sized, terms, created_sum, meta_sum)
         select $2::text, next.last, array_append($3::bigint[], next.last), $4::bigint[], $5::bigint, $6::bigint, 0, $7::bytea, $8::bytea, $9::bigint, null, $10::text, 1, $1::text, ${usedAt('$9::bigint')}, ${sizedAt('$6::bigint')}, $14::bigint[], $15::bigint, $16::bigint
         from next where $12::bigint is null or exists (select 1 from source)
         on conflict (scope, id) do nothing returning key
       )
       insert into ${this.#db.schema}.segment (scope, key, parent, base, state) select $1::text, key, $13::bigint, $5::bigint, 0 from made returning key`,
      [
        scope,
        id,
        stretches.map(({ segment }) => segment),
        [...stretches.map(({ base }) => base), range.size],
        range.size,
        entries,
        Buffer.concat(range.peaks),
        bytesOf(head.root),
        created,
        text,
        source?.id ?? null,
        source?.key ?? null,
        stretches.at(-1)?.segment ?? null,
        termsOf(scope, meta),
        createdSum(scope, id, created),
        metaSum(scope, id, text, 1),
      ],
    )
    const [row] = made
    if (row === undefined) return undefined
    const key = Number(row['key'])
    const own = [...stretches, { segment: key, base: range.size }]
    const { peaks } = range
    return { id, key, stretches: own, head, entries, tokens: 0, peaks, created, appended: undefined, meta, version: 1 }
  }
}

/** Thrown if a block of the append already exists and is damaged. */
class StoredBlockDamaged extends Error {}

/** The update statement. A claimed lease is locked until the commit, as in an append, so no one can take it over. */
const updateText = (schema: string, isClaiming: boolean): string =>
  `${
    isClaiming
      ? `with held as materialized (
    select s.number from ${schema}.lease s join ${schema}.log l on l.scope = s.scope and l.key = s.log
    where l.scope = $1::text and l.id = $2::text and s.holder is not null
      and (s.expires > clock_timestamp() or s.number = $8::bigint)
    for share of s
  ) `
      : ''
  }update ${schema}.log set meta = $4::text, terms = $5::bigint[], changes = changes + 1, meta_sum = $6::bigint
  where scope = $1::text and id = $2::text and changes = $3::bigint and ($7::bigint is null or key = $7::bigint)
    ${isClaiming ? 'and (select number from held) is not distinct from $8::bigint' : ''}
  returning ${logColumns}`

/** The version; -1 if it is not a valid one. */
const versionIn = (version: number): number => (Number.isSafeInteger(version) ? version : -1)
