/**
 * The appends of one handle. Concurrent appends share a statement. A few statements run at a time,
 * but never two for one log.
 *
 * The state of logs after their last append is cached, so that the next append takes one round trip. The cache
 * need not be right: an append that does not find the log in the cached state does nothing, and reads it again.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'indelible/internal/json'
import { peakEnds, type BlockId } from 'indelible/internal/proof'
import { RecentMap } from 'indelible/internal/sequence'
import {
  type Answer,
  type AppendedRows,
  type CheckedAppend,
  conflict,
  Damaged,
  divergedFault,
  hasKey,
  type Head,
  isStaleHead,
  missedRange,
  referencedBlocks,
  olderSize,
  orDamage,
  rangeOf,
  repeatedAppend,
  type StoreFault,
} from 'indelible/internal/store'
import { appendStatement, bytesOf, noneOf, planNextAppend, type PlannedAppends } from './append.ts'
import { stateOf, withStatementLimit, type Database, type Rows } from './database.ts'
import { isIndexGone, type Documents } from './documents.ts'
import { queryCanceled, faultOf, foreignKey, retryUntil } from './fault.ts'
import { findLog, headIn, hexOf, logColumns, logOrDamage, type Log } from './log.ts'
import type { Leases } from './leases.ts'
import { LogRows } from './rows.ts'
import { hash } from './sum.ts'

type AppendAnswer = Either<StoreFault, AppendedRows>

interface Job {
  readonly scope: string
  readonly id: string
  /** Its log, among those of all scopes. */
  readonly log: string
  readonly append: CheckedAppend
  readonly bytes: number
  readonly answer: (answered: AppendAnswer) => void
}

/** The maximum number of appends in one statement. */
const batchJobs = 128
/** The approximate maximum of bytes in a statement. They are sent in hexadecimal, and CockroachDB's limit is 16 MiB. */
export const statementBytes: number = 4 << 20
/** The maximum number of concurrent statements. */
const lanes = 4
/** The number of cached logs. */
const maxKnown = 4096

export class Writer {
  readonly #db: Database
  readonly #leases: Leases
  readonly #documents: Documents
  readonly #known = new RecentMap<string, Log>(maxKnown)
  /** Logs with a pending statement. */
  readonly #busy = new Set<string>()
  #queue: Job[] = []
  #going = 0
  #scheduled = false

  constructor(db: Database, leases: Leases, documents: Documents) {
    this.#db = db
    this.#leases = leases
    this.#documents = documents
  }

  append(scope: string, id: string, append: CheckedAppend): Promise<AppendAnswer> {
    let bytes = 0
    for (const { body } of append.rows) bytes += body.length
    for (const block of append.blocks) bytes += block.bytes.length
    return new Promise((answer) => {
      this.#queue.push({ scope, id, log: keyOf(scope, id), append, bytes, answer })
      void this.#schedule()
    })
  }

  /** Caches the state of a log that was read, for its next append. */
  remember(scope: string, log: Log): void {
    const key = keyOf(scope, log.id)
    if ((this.#known.get(key)?.head.size ?? -1) < log.head.size) this.#known.set(key, log)
  }

  /** Batches the calls of one turn of the event loop. */
  async #schedule(): Promise<void> {
    if (this.#scheduled) return
    this.#scheduled = true
    await Promise.resolve()
    this.#scheduled = false
    while (this.#going < lanes && this.#start()) continue
  }

  #start(): boolean {
    const batch = this.#nextBatch()
    const [first] = batch
    if (first === undefined) return false
    for (const { log } of batch) this.#busy.add(log)
    this.#going += 1
    void this.#commit(first.scope, batch)
    return true
  }

  /** The next jobs of one scope whose logs are not busy, first come first. The order within a log is kept. */
  #nextBatch(): readonly Job[] {
    const batch: Job[] = []
    const rest: Job[] = []
    const full = new Set<string>()
    let bytes = 0
    for (const job of this.#queue) {
      const fits =
        !this.#busy.has(job.log) &&
        !full.has(job.log) &&
        (batch.length === 0 ||
          (batch.length < batchJobs && bytes + job.bytes <= statementBytes && job.scope === batch[0]?.scope))
      if (fits) {
        batch.push(job)
        bytes += job.bytes
      } else {
        full.add(job.log)
        rest.push(job)
      }
    }
    if (batch.length > 0) this.#queue = rest
    return batch
  }

  async #commit(scope: string, batch: readonly Job[]): Promise<void> {
    const since = performance.now()
    try {
      const areKnown = batch.every(({ log }) => this.#known.has(log))
      const recalled = areKnown ? undefined : await this.#recall(scope, batch)
      const undone = await this.#together(scope, batch)
      // Nothing was sent since the logs were read, if no job was appended.
      if (undone.length > 0) await this.#apart(undone, since, undone.length === batch.length ? recalled : undefined)
    } catch (error) {
      const fault = faultOf(error, this.#db.place, 'append')
      for (const job of batch) {
        this.#known.delete(job.log)
        job.answer(left(fault)) // jobs already answered keep their result
      }
    }
    for (const { log } of batch) this.#busy.delete(log)
    this.#going -= 1
    void this.#schedule()
  }

  /** Append the jobs of each log on their own: a log that is blocked must not block the others. */
  async #apart(jobs: readonly Job[], since: number, seen: ReadonlyMap<string, Log> | undefined): Promise<void> {
    const rest = [...Map.groupBy(jobs, ({ log }) => log).values()]
    const lane = async (): Promise<void> => {
      for (let next = rest.shift(); next !== undefined; next = rest.shift())
        for (const job of next) job.answer(await this.#alone(job, since, seen?.get(job.log)))
    }
    await Promise.all(Array.from({ length: Math.min(lanes, rest.length) }, lane))
  }

  /** Append all jobs that continue their cached logs, in one statement. Returns the jobs that were not appended. */
  async #together(scope: string, batch: readonly Job[]): Promise<readonly Job[]> {
    const growths = new Map<string, JobsOfLog>()
    const undone: Job[] = []
    for (const job of batch) {
      const { log } = job
      const before = growths.has(log) ? undefined : this.#known.get(log)
      const growth = before === undefined ? growths.get(log) : { ...noneOf(before), log, jobs: [] }
      if (growth !== undefined && !hasOperation(growth, job) && planNextAppend(growth, job.append)) {
        growth.jobs.push(job)
        growths.set(log, growth)
      } else undone.push(job)
    }
    if (growths.size === 0) return batch
    const planned = [...growths.values()]
    let keys: ReadonlySet<number>
    try {
      const work = (): Promise<ReadonlySet<number>> => this.#run(scope, planned)
      // One of several logs may be blocked. This leaves time for the others.
      keys = await (planned.length === 1 ? work() : withStatementLimit(this.#db.place.timeout / 2, work))
    } catch (error) {
      // A single log has used all of the time. Jobs outside the statement have time of their own.
      const isOver = stateOf(error) === queryCanceled && planned.length === 1 && undone.length === 0
      if (stateOf(error) === undefined || isOver) throw error
      for (const { log } of planned) this.#known.delete(log)
      return batch // one of them can't be appended, and must not fail the others
    }
    for (const { log, before, after, steps, jobs } of planned) {
      if (keys.has(before.key)) {
        this.#known.set(log, after)
        for (const [index, { growth }] of steps.entries()) jobs[index]?.answer(right(growth.answer)) // a step for each job
      } else {
        this.#known.delete(log)
        for (const job of jobs) undone.push(job)
      }
    }
    return undone.length === 0 ? undone : batch.filter((job) => undone.includes(job))
  }

  /**
   * Append one job, with retries. Its time started when the batch was sent.
   *
   * @param seen the log, if it was just read
   */
  async #alone(job: Job, since: number, seen: Log | undefined): Promise<AppendAnswer> {
    const { scope, id, append } = job
    try {
      return await retryUntil(
        this.#db.place.timeout,
        async (): Promise<AppendAnswer> => {
          for (let refused = false; ; refused = true) {
            const log = (refused ? undefined : seen) ?? (await findLog(this.#db.read, this.#db.schema, scope, id))
            if (log === undefined) return left({ _tag: 'NoSuchLog', id })
            if (!hasKey(log.meta, append.ownKey)) return left(divergedFault(id, append.expected, log.head))
            const { operation } = append
            const before =
              operation === undefined
                ? right(undefined)
                : await readingLog(this.#db, scope, log, async (rows) =>
                    right(await this.#answered(scope, log, operation, append, rows)),
                  )
            if (isLeft(before)) return before
            if (before.right !== undefined) return before.right
            const unleased = await this.#leases.against(this.#db.read, scope, id, append)
            if (unleased !== undefined) return left(unleased)
            rangeOf(log.head, log.peaks, hash)
            const growth = noneOf(log)
            if (!planNextAppend(growth, append)) {
              this.#known.set(job.log, log) // a refused writer will retry
              return await readingLog(this.#db, scope, log, async (rows) =>
                left(await this.#conflict(log, append.expected, rows)),
              )
            }
            try {
              const keys = await this.#run(scope, [growth])
              if (!keys.has(log.key)) {
                await this.mend(scope, append)
                continue // the log has changed since it was read
              }
            } catch (error) {
              const missing = stateOf(error) === foreignKey ? await this.missing(scope, append) : []
              if (missing.length > 0) return left({ _tag: 'MissingBlock', ids: missing })
              throw error
            }
            this.#known.set(job.log, growth.after)
            return right((growth.steps[0] as PlannedAppends['steps'][number]).growth.answer) // the growth has one step
          }
        },
        since,
      )
    } catch (error) {
      this.#known.delete(job.log)
      return left(damageOr(error, id) ?? faultOf(error, this.#db.place, 'append'))
    }
  }

  async #run(scope: string, growths: readonly PlannedAppends[]): Promise<ReadonlySet<number>> {
    const { text, values, documents } = appendStatement(this.#db.schema, scope, growths, (append, rows) =>
      this.#documents.of(scope, append, rows),
    )
    let done: Rows
    try {
      done = await this.#db.write(text, values)
    } catch (error) {
      if (documents && isIndexGone(error)) this.#documents.found(false)
      else throw error
      return this.#run(scope, growths)
    }
    return new Set(done.map(({ key }) => Number(key)))
  }

  /** Replaces damaged stored blocks by those of the append. */
  async mend(scope: string, { blocks }: CheckedAppend): Promise<void> {
    if (blocks.length === 0) return
    const { schema } = this.#db.place
    await this.#db.write(
      `update ${schema}.block b set bytes = g.bytes from unnest($2::bytea[], $3::bytea[]) as g (id, bytes)
       where b.scope = $1::text and b.id = g.id and b.bytes <> g.bytes`,
      [scope, blocks.map(({ id }) => bytesOf(id)), blocks.map(({ bytes }) => bytes)],
    )
  }

  /** Read the logs that are not cached. Returns the readable ones. */
  async #recall(scope: string, batch: readonly Job[]): Promise<ReadonlyMap<string, Log>> {
    const seen = new Map<string, Log>()
    const unknown = new Map(batch.filter(({ log }) => !this.#known.has(log)).map((job) => [job.id, job]))
    const text = `select ${logColumns} from ${this.#db.schema}.log where scope = $1::text and id = any($2::text[])`
    const found = await retryUntil(this.#db.place.timeout, () => this.#db.read(text, [scope, [...unknown.keys()]]))
    for (const row of found) {
      const log = logOrDamage(row)
      if (log instanceof Damaged || !isSound(log)) continue // `#alone` reads it again and reports the damage
      const job = unknown.get(log.id) as Job // only requested logs are found
      this.#known.set(job.log, log)
      seen.set(job.log, log)
    }
    return seen
  }

  async #answered(
    scope: string,
    log: Log,
    operation: string,
    append: CheckedAppend,
    rows: LogRows,
  ): Promise<AppendAnswer | undefined> {
    const [found] = await this.#db.read(
      `select base, size, root from ${this.#db.schema}.operation where scope = $1::text and log = $2::bigint and id = $3::text`,
      [scope, log.key, operation],
    )
    if (found === undefined) return undefined
    const [from, head] = [Number(found['base']), headIn(found)]
    if (head.size > log.head.size) return undefined // appended after the log was read, so the head has changed, too
    const stored = head.size === from ? [] : await rows.read({ from, to: head.size })
    return repeatedAppend(log.id, { operation, from, head }, append.rows, stored)
  }

  async #conflict({ id, head: actual }: Log, expected: Head, rows: LogRows): Promise<StoreFault> {
    const size = olderSize(expected, actual)
    if (size === undefined) return divergedFault(id, expected, actual)
    const [peaks, missed] = await Promise.all([
      rows.nodes(peakEnds(size).map((end) => end - 1)),
      rows.read(missedRange(expected, actual)),
    ])
    return isStaleHead(expected, { size, peaks }, hash)
      ? conflict(id, expected, actual, missed)
      : divergedFault(id, expected, actual)
  }

  /** The missing blocks among those that an append references. */
  async missing(scope: string, append: CheckedAppend): Promise<readonly BlockId[]> {
    const named = referencedBlocks(append)
    if (named.length === 0) return []
    const found = await this.#db.read(
      `select id from ${this.#db.schema}.block where scope = $1::text and id = any($2::bytea[])`,
      [scope, named.map(bytesOf)],
    )
    const there = new Set(found.map(({ id }) => hexOf(id)))
    return named.filter((id) => !there.has(id))
  }
}

/** The jobs of a log that are appended in one statement, with their planned appends in the same order. */
interface JobsOfLog extends PlannedAppends {
  readonly log: string
  readonly jobs: Job[]
}

const keyOf = (scope: string, id: string): string => `${scope}\0${id}` // neither contains a NUL

/** Whether one of the steps has the same operation. Its result then answers both. */
const hasOperation = ({ steps }: PlannedAppends, { append }: Job): boolean =>
  append.operation !== undefined && steps.some((step) => step.append.operation === append.operation)

const isSound = ({ head, peaks }: Log): boolean => !(orDamage(() => rangeOf(head, peaks, hash)) instanceof Damaged)

/** The fault of damage; undefined for other errors. */
const damageOr = (error: unknown, id: string): StoreFault | undefined =>
  error instanceof Damaged ? { _tag: 'DamagedLog', id, position: error.position, reason: error.reason } : undefined

/** Reads a log. If rows are missing because the log was removed, that is not damage. */
export const readingLog = async <T>(
  { read, schema }: Database,
  scope: string,
  log: Log,
  work: (rows: LogRows) => Answer<T>,
): Answer<T> => {
  const { id } = log
  const answer = await orDamaged(id, () => work(new LogRows(read, schema, scope, log)))
  if (!isLeft(answer) || answer.left._tag !== 'DamagedLog') return answer
  const again = await findLog(read, schema, scope, id)
  return again?.key === log.key ? answer : left({ _tag: 'NoSuchLog', id })
}

export const orDamaged = async <T>(id: string, work: () => Answer<T>): Answer<T> => {
  try {
    return await work()
  } catch (error) {
    const damage = damageOr(error, id)
    if (damage === undefined) throw error
    return left(damage)
  }
}
