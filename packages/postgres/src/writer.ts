/**
 * Appends of one handle. What waits together goes in one statement, a few of them at a time; never two for one log.
 *
 * What the logs were like after the last append is remembered, so that the next one is one round trip. It need not be
 * true: an append that does not find the log as it is remembered does nothing, and looks again.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'indelible/json/kit'
import { peakEnds, type BlockId } from 'indelible/proof/kit'
import { RecentMap } from 'indelible/sequence/kit'
import {
  type Appended,
  type CheckedAppend,
  conflict,
  Damaged,
  divergedFault,
  hasKey,
  type Head,
  isStaleHead,
  missedRange,
  namedElsewhere,
  olderSize,
  rangeOf,
  repeatedAppend,
  type StoreFault,
} from 'indelible/store/kit'
import { appendStatement, bytesOf, growLog, type Growths } from './append.ts'
import { isUnsupported, stateOf, within, type Database, type Rows } from './database.ts'
import { isIndexGone, type Documents } from './documents.ts'
import { queryCanceled, faultOf, foreignKey, patiently } from './fault.ts'
import { findLog, logColumns, readable, type Log } from './log.ts'
import type { Leases } from './leases.ts'
import { LogRows } from './rows.ts'
import { hash } from './sum.ts'
import type { Turns } from './turns.ts'

type AppendAnswer = Either<StoreFault, Appended>

interface Job {
  readonly scope: string
  readonly id: string
  readonly append: CheckedAppend
  readonly bytes: number
  readonly answer: (answered: AppendAnswer) => void
}

/** How many appends go in one statement. */
const batchJobs = 128
/** How many bytes go in one, about: they are sent as hexadecimal digits, and CockroachDB takes no message of more than 16 MiB. */
export const statementBytes: number = 4 << 20
/** How many statements are on their way at a time. */
const lanes = 4
/** How many logs are remembered. */
const maxKnown = 4096

export class Writer {
  readonly #db: Database
  readonly #leases: Leases
  readonly #documents: Documents
  readonly #turns: Turns
  readonly #known = new RecentMap<string, Log>(maxKnown)
  /** Logs that a statement is on its way for. */
  readonly #busy = new Set<string>()
  #queue: Job[] = []
  #going = 0
  #scheduled = false

  constructor(db: Database, leases: Leases, documents: Documents, turns: Turns) {
    this.#db = db
    this.#leases = leases
    this.#documents = documents
    this.#turns = turns
  }

  append(scope: string, id: string, append: CheckedAppend): Promise<AppendAnswer> {
    const bytes =
      append.rows.reduce((sum, { body }) => sum + body.length, 0) +
      append.blocks.reduce((sum, block) => sum + block.bytes.length, 0)
    return new Promise((answer) => {
      this.#queue.push({ scope, id, append, bytes, answer })
      this.#schedule()
    })
  }

  /** What is called in one turn goes together. */
  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    queueMicrotask(() => {
      this.#scheduled = false
      while (this.#going < lanes && this.#start()) continue
    })
  }

  #start(): boolean {
    const batch = this.#nextBatch()
    const [first] = batch
    if (first === undefined) return false
    const logs = new Set(batch.map(keyOf))
    for (const log of logs) this.#busy.add(log)
    this.#going += 1
    void this.#finish(first.scope, batch, logs)
    return true
  }

  async #finish(scope: string, batch: readonly Job[], logs: ReadonlySet<string>): Promise<void> {
    await this.#commit(scope, batch)
    for (const log of logs) this.#busy.delete(log)
    this.#going -= 1
    this.#schedule()
  }

  /** The first that wait, of one scope, without those whose logs are busy. The order within a log is kept. */
  #nextBatch(): readonly Job[] {
    const batch: Job[] = []
    const rest: Job[] = []
    const full = new Set<string>()
    let bytes = 0
    for (const job of this.#queue) {
      const log = keyOf(job)
      const fits =
        !this.#busy.has(log) &&
        !full.has(log) &&
        (batch.length === 0 ||
          (batch.length < batchJobs && bytes + job.bytes <= statementBytes && job.scope === batch[0]?.scope))
      if (fits) {
        batch.push(job)
        bytes += job.bytes
      } else {
        full.add(log)
        rest.push(job)
      }
    }
    if (batch.length > 0) this.#queue = rest
    return batch
  }

  async #commit(scope: string, batch: readonly Job[]): Promise<void> {
    const since = performance.now()
    try {
      const logs = new Map<string, Job[]>()
      const recalled = await this.#recall(scope, batch)
      const undone = await this.#together(scope, batch)
      const seen = undone.length === batch.length ? recalled : undefined // nothing was sent since
      for (const job of undone) logs.set(keyOf(job), [...(logs.get(keyOf(job)) ?? []), job])
      // A log that somebody holds up does not hold up the others.
      const rest = [...logs.values()]
      const lane = async (): Promise<void> => {
        for (let jobs = rest.shift(); jobs !== undefined; jobs = rest.shift())
          for (const job of jobs) job.answer(await this.#alone(job, since, seen?.get(keyOf(job))))
      }
      await Promise.all(Array.from({ length: Math.min(lanes, rest.length) }, lane))
    } catch (error) {
      const fault = faultOf(error, this.#db.place, 'append')
      for (const job of batch) {
        this.#known.delete(keyOf(job))
        job.answer(left(fault)) // those that have an answer keep it
      }
    }
  }

  /** One statement for all that continue their logs. Gives those that it did not do. */
  async #together(scope: string, batch: readonly Job[]): Promise<readonly Job[]> {
    const growths = new Map<string, { readonly growth: Growths; readonly jobs: readonly Job[] }>()
    const rest: Job[] = []
    for (const job of batch) {
      const log = keyOf(job)
      const before = this.#known.get(log)
      const { growth, jobs } = growths.get(log) ?? { growth: before && { before, after: before, steps: [] }, jobs: [] }
      const next = growth && !repeats(growth, job) ? growLog(growth, job.append) : undefined
      if (next === undefined) rest.push(job)
      else growths.set(log, { growth: next, jobs: [...jobs, job] })
    }
    if (growths.size === 0) return rest
    const planned = [...growths.values()]
    let keys: ReadonlySet<number>
    try {
      const work = (): Promise<ReadonlySet<number>> =>
        this.#run(
          scope,
          planned.map(({ growth }) => growth),
        )
      // Of several logs one may be held up: then there is time for the others.
      keys = await (planned.length === 1 ? work() : within(this.#db.place.timeout / 2, work))
    } catch (error) {
      // One log had all of the time. Those that are not in the statement have some of their own.
      const isOver = stateOf(error) === queryCanceled && planned.length === 1 && rest.length === 0
      if (stateOf(error) === undefined || isOver) throw error
      for (const { jobs } of planned) for (const job of jobs) this.#known.delete(keyOf(job))
      return batch // one of them can't be done, and must not take the others with it
    }
    const undone = new Set<Job>(rest)
    for (const { growth, jobs } of planned) {
      if (keys.has(growth.before.key)) {
        for (const [index, job] of jobs.entries())
          job.answer(right((growth.steps[index] as Growths['steps'][number]).growth.answer)) // a step for each job
        this.#known.set(keyOf(jobs[0] as Job), growth.after)
      } else {
        for (const job of jobs) undone.add(job)
        this.#known.delete(keyOf(jobs[0] as Job))
      }
    }
    return batch.filter((job) => undone.has(job))
  }

  /**
   * One append, whatever is in its way. Its time began when the batch was sent.
   *
   * @param seen the log, if it was looked at just before
   */
  async #alone(job: Job, since: number, seen: Log | undefined): Promise<AppendAnswer> {
    const { scope, id, append } = job
    try {
      return await patiently(
        this.#db.place.timeout,
        async (): Promise<AppendAnswer> => {
          for (let refused = false; ; refused = true) {
            const log = (refused ? undefined : seen) ?? (await findLog(this.#db.read, this.#db.schema, scope, id))
            if (log === undefined) return left({ _tag: 'NoSuchLog', id })
            if (!hasKey(log.meta, append.ownKey)) return left(divergedFault(id, append.expected, log.head))
            const rows = new LogRows(this.#db.read, this.#db.schema, scope, log)
            const before =
              append.operation === undefined
                ? undefined
                : await this.#answered(scope, log, append.operation, append, rows)
            if (before !== undefined) return before
            const unleased = await this.#leases.against(this.#db.read, scope, id, append)
            if (unleased !== undefined) return left(unleased)
            rangeOf(log.head, log.peaks, hash)
            const growth = growLog({ before: log, after: log, steps: [] }, append)
            if (growth === undefined) {
              this.#known.set(keyOf(job), log) // whoever is refused tries again
              return left(await this.#conflict(log, append.expected, rows))
            }
            if (refused && append.respectTurns) return left(conflict(id, append.expected, log.head, []))
            try {
              const keys = await this.#run(scope, [growth])
              if (!keys.has(log.key)) {
                await this.mend(scope, append)
                continue // it has changed since it was looked at
              }
            } catch (error) {
              const missing = stateOf(error) === foreignKey ? await this.missing(scope, append) : []
              if (missing.length > 0) return left({ _tag: 'MissingBlock', ids: missing })
              throw error
            }
            this.#known.set(keyOf(job), growth.after)
            return right((growth.steps[0] as Growths['steps'][number]).growth.answer) // it was grown by one
          }
        },
        since,
      )
    } catch (error) {
      this.#known.delete(keyOf(job))
      return left(damageOr(error, id) ?? faultOf(error, this.#db.place, 'append'))
    }
  }

  async #run(scope: string, growths: readonly Growths[]): Promise<ReadonlySet<number>> {
    const { text, values, documents, turns } = appendStatement(
      this.#db.schema,
      scope,
      growths,
      (append, rows) => this.#documents.of(scope, append, rows),
      (id) => (this.#turns.supported ? this.#turns.keyOf(scope, id) : undefined),
    )
    let done: Rows
    try {
      done = await this.#db.write(text, values)
    } catch (error) {
      if (documents && isIndexGone(error)) this.#documents.lost()
      else if (turns && isUnsupported(error)) this.#turns.unsupported()
      else throw error
      return this.#run(scope, growths)
    }
    return new Set(done.map(({ key }) => Number(key)))
  }

  /** Blocks that are given and are there already must be the same: those that were damaged are whole again. */
  async mend(scope: string, { blocks }: CheckedAppend): Promise<void> {
    if (blocks.length === 0) return
    const { schema } = this.#db.place
    await this.#db.write(
      `update ${schema}.block b set bytes = g.bytes from unnest($2::bytea[], $3::bytea[]) as g (id, bytes)
       where b.scope = $1::text and b.id = g.id and b.bytes <> g.bytes`,
      [scope, blocks.map(({ id }) => bytesOf(id)), blocks.map(({ bytes }) => bytes)],
    )
  }

  /** Look up the logs that are not remembered, and give those that can be read. */
  async #recall(scope: string, batch: readonly Job[]): Promise<ReadonlyMap<string, Log>> {
    const seen = new Map<string, Log>()
    const unknown = new Map(batch.filter((job) => !this.#known.has(keyOf(job))).map((job) => [job.id, job]))
    if (unknown.size === 0) return seen
    const text = `select ${logColumns} from ${this.#db.schema}.log where scope = $1::text and id = any($2::text[])`
    const found = await patiently(this.#db.place.timeout, () => this.#db.read(text, [scope, [...unknown.keys()]]))
    for (const row of found) {
      const log = readable(row)
      if (log instanceof Damaged || !isSound(log)) continue // looked at again, and said, by itself
      const job = unknown.get(log.id) as Job // only what was asked for is found
      this.#known.set(keyOf(job), log)
      seen.set(keyOf(job), log)
    }
    return seen
  }

  /** What the log was like counts for nothing: the next append looks first. */
  forget(scope: string, id: string): void {
    this.#known.delete(keyOf({ scope, id }))
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
    const [from, size] = [Number(found['base']), Number(found['size'])]
    if (size > log.head.size) return undefined // it was appended after the log was looked at: then the head has changed too
    const head = { size, root: (found['root'] as Buffer).toString('hex') }
    const stored = size === from ? [] : await rows.read({ from, to: size })
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

  /** Blocks that an append references and that are missing. */
  async missing(scope: string, append: CheckedAppend): Promise<readonly BlockId[]> {
    const named = namedElsewhere(append)
    if (named.length === 0) return []
    const found = await this.#db.read(
      `select id from ${this.#db.schema}.block where scope = $1::text and id = any($2::bytea[])`,
      [scope, named.map(bytesOf)],
    )
    const there = new Set<string>(found.map(({ id }) => (id as Buffer).toString('hex')))
    return named.filter((id) => !there.has(id))
  }
}

const keyOf = ({ scope, id }: Pick<Job, 'scope' | 'id'>): string => `${scope}\0${id}` // neither has a NUL

/** Whether one of the steps is the same operation: that one answers for both, once it is done. */
const repeats = ({ steps }: Growths, { append }: Job): boolean =>
  append.operation !== undefined && steps.some((step) => step.append.operation === append.operation)

const isSound = ({ head, peaks }: Log): boolean => {
  try {
    rangeOf(head, peaks, hash)
    return true
  } catch (error) {
    if (error instanceof Damaged) return false
    throw error
  }
}

/** What rows that are not there are for who wanted them. */
export const damageOr = (error: unknown, id: string): StoreFault | undefined =>
  error instanceof Damaged ? { _tag: 'DamagedLog', id, position: error.position, reason: error.reason } : undefined
