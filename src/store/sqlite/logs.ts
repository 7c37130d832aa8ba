/** The logs of a file: finding, adding, describing, forking and removing them. `append.ts` appends to them. */
import { hash } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right, type JsonObject } from '../../json/index.ts'
import { emptyRange, type Hash } from '../../proof/internal.ts'
import { momentOf } from '../port/clock.ts'
import { Damaged, orDamage } from '../port/damage-error.ts'
import type { CheckedQuery, CheckedUpdate, UnchangedLog } from '../port/driver.ts'
import type { Sharing } from '../port/erasing.ts'
import type { StoreFault } from '../fault.ts'
import { changedFault, forkFault, entriesBefore, hasKey, logInfo, sharedRows, type GrownLog } from '../rules/rules.ts'
import type { LogInfo, LogPage, LogPiece } from '../port/store.ts'
import { tokensColumn } from '../port/row-tokens.ts'
import { headOf } from '../port/tree.ts'
import { pageOfLogs } from './list.ts'
import {
  exactSizes,
  headIn,
  infoIn,
  logIn,
  metaIsSound,
  metaSum,
  nameIsSound,
  nameSum,
  selectLog,
  sizeKey,
  useTimeKey,
  type LogRow,
  type RawLog,
} from './log.ts'
import { prepareAllOnce } from './prepared.ts'
import type { Rows } from './rows.ts'
import type { Scopes } from './scopes.ts'
import { sumOf } from './sum.ts'

/** The largest segment key. It is the upper half of its rows' ids. */
const lastSegment = 2 ** 31 - 1

/** The number of log keys in a piece. */
const inPiece = 1000

/** The maximum number of entries in a log. Positions are the lower half of row ids. */
const mostEntries = 2 ** 32 - 1

export class Logs {
  readonly #scopes: Scopes
  readonly #rows: Rows
  readonly #hash: Hash
  readonly #now: () => number
  readonly #statements: ReturnType<typeof statements>

  constructor(db: DatabaseSync, scopes: Scopes, rows: Rows, hash: Hash, now: () => number) {
    this.#scopes = scopes
    this.#rows = rows
    this.#hash = hash
    this.#now = now
    this.#statements = statements(db)
  }

  find(scope: string, id: string): RawLog | undefined {
    return this.#statements.log().get(this.#scopes.keyOf(scope), id) as RawLog | undefined
  }

  /** Call a function with a log. */
  on<T>(scope: string, id: string, work: (log: LogRow, raw: RawLog) => Either<StoreFault, T>): Either<StoreFault, T> {
    return damageIn(id, () => {
      const raw = this.find(scope, id)
      return raw === undefined ? left({ _tag: 'NoSuchLog', id }) : work(logIn(raw), raw)
    })
  }

  /** The logs that share first rows with a log, and the number of shared rows. Throws Damaged. */
  sharing(log: LogRow): readonly Sharing[] {
    const own = this.#ends(log.segment, log.size)
    const [first] = own
    if (first === undefined) return []
    const found: Sharing[] = []
    for (const raw of this.#statements.family().all(first.segment) as unknown as readonly RawLog[]) {
      const other = logIn(raw)
      if (other.key === log.key) continue
      found.push({ id: other.id, rows: sharedRows(own, this.#ends(other.segment, other.size)) })
    }
    return found
  }

  #ends(segment: number, size: number): readonly { readonly segment: number; readonly to: number }[] {
    return this.#rows.stretches(segment, 0, size).map(({ segment, to }) => ({ segment, to }))
  }

  list(scope: string, query: CheckedQuery): LogPage {
    const key = this.#scopes.keyOf(scope)
    const { by, after = { value: undefined, key: Number.MAX_SAFE_INTEGER } } = query
    const last = Number(after.value ?? Number.MAX_SAFE_INTEGER)
    const found =
      by === 'created'
        ? this.#statements.list().iterate(key, after.key)
        : by === 'id'
          ? this.#statements.byId().iterate(key, after.value ?? '')
          : by === 'appended'
            ? this.#statements.recent().iterate(key, useTimeKey(last), last, after.key)
            : by === 'tokens'
              ? this.#byTokens(key, last, after.key)
              : this.#bySize(key, Math.min(last, mostEntries), after.key)
    return pageOfLogs(found as IterableIterator<unknown> as IterableIterator<RawLog>, query)
  }

  /** Lists by size without sorting what the index has in order: any number of small logs may have the same size. */
  *#bySize(scope: number, last: number, key: number): Generator<unknown> {
    if (last >= exactSizes) yield* this.#statements.large().iterate(scope, exactSizes, sizeKey(last), last, key)
    else yield* this.#statements.sameSize().iterate(scope, last, key)
    yield* this.#statements.smaller().iterate(scope, Math.min(last, exactSizes))
  }

  /** Lists by tokens, also without sorting: any number of logs may have none. */
  *#byTokens(scope: number, last: number, key: number): Generator<unknown> {
    yield* this.#statements.sameTokens().iterate(scope, last, key)
    yield* this.#statements.fewerTokens().iterate(scope, last)
  }

  /** Digests of groups of logs, by log key: up to a thousand in each. */
  async pieces(scope: string): Promise<readonly LogPiece[]> {
    const key = this.#scopes.keyOf(scope)
    const found: LogPiece[] = []
    for (let from = 0; ;) {
      const next = this.#statements.next().get(key, from)?.['key']
      if (next === undefined) return Object.freeze(found)
      const piece = Math.floor(Number(next) / inPiece)
      from = (piece + 1) * inPiece
      const { logs, heads } = this.#statements.piece().get(key, piece * inPiece, from) ?? {}
      const digest = hash('sha256', String(heads))
      found.push(Object.freeze({ name: String(piece), after: String(from), logs: Number(logs), digest }))
      if (found.length % 16 === 0) await new Promise(setImmediate)
    }
  }

  add(
    scope: number,
    id: string,
    segment: number,
    { range, entries, tokens, appended }: Pick<GrownLog, 'range' | 'entries' | 'tokens' | 'appended'>,
    meta: JsonObject,
  ): LogInfo {
    const head = headOf(range, this.#hash)
    const created = Math.min(momentOf(this.#now), appended ?? Infinity)
    const { size } = range
    const [peaks, root] = [Buffer.concat(range.peaks), Buffer.from(head.root, 'hex')]
    const text = JSON.stringify(meta)
    const nameMark = nameSum({ scope, id, segment })
    const metaMark = metaSum(scope, id, created, text, 1)
    this.#statements
      .addLog()
      .run(
        scope,
        id,
        segment,
        size,
        entries,
        tokens,
        peaks,
        root,
        created,
        useTimeKey(appended ?? created),
        sizeKey(entries),
        text,
        appended ?? null,
        nameMark,
        metaMark,
      )
    return logInfo({ id, head, entries, tokens, created, appended, meta, version: 1 })
  }

  addSegment(scope: number, parent: number | null, base: number): number {
    const added = this.#statements.addSegment().run(scope, parent, base, sumOf(scope, parent, base))
    const key = Number(added.lastInsertRowid)
    if (key > lastSegment)
      throw new Error(`segments are numbered up to ${lastSegment}, and the next one is ${key}: repair the store`)
    if (parent !== null) this.#statements.addFork().run(parent)
    return key
  }

  update(
    scope: string,
    id: string,
    { expected, meta, ownKey }: CheckedUpdate,
    against: (log: LogRow) => StoreFault | undefined,
  ): Either<StoreFault, LogInfo> {
    return this.on(scope, id, (log, raw) => {
      const info = infoIn(raw)
      if (!hasKey(info.meta, ownKey)) return left({ _tag: 'NoSuchLog', id })
      const unleased = against(log)
      if (unleased !== undefined) return left(unleased)
      if (info.version !== expected)
        return left({ _tag: 'MetaConflict', id, expected, actual: info.version, meta: info.meta })
      if (!metaIsSound(raw, info)) throw new Damaged(log.size, 'its metadata was altered')
      const text = JSON.stringify(meta)
      const version = expected + 1
      this.#statements.update().run(text, version, metaSum(log.scope, id, info.created, text, version), log.key)
      return right(Object.freeze({ ...info, meta, version }))
    })
  }

  fork(scope: string, id: string, to: string, at: number, meta: JsonObject): Either<StoreFault, LogInfo> {
    return this.on(scope, id, (log) => {
      const problem = forkFault(log.id, at, log.size)
      if (problem !== undefined) return left(problem)
      if (this.find(scope, to) !== undefined) return left({ _tag: 'LogExists', id: to })
      const entries = entriesBefore(at, at === 0 ? undefined : this.#rows.placeAt(log.segment, at - 1))
      const key = this.#scopes.keyOf(scope)
      const segment = this.addSegment(key, this.#rows.ownerOf(log.segment, at), at)
      const range = at === 0 ? emptyRange : this.#rows.rangeAt(log.segment, at)
      return right(this.add(key, to, segment, { range, entries, tokens: 0, appended: undefined }, meta))
    })
  }

  /** Remove a log, but not its rows, and return its segment. */
  remove(scope: string, id: string, unchanged: UnchangedLog | undefined): Either<StoreFault, number | undefined> {
    const raw = this.find(scope, id)
    if (raw === undefined) return left({ _tag: 'NoSuchLog', id })
    const other = unchanged && this.find(scope, unchanged.id)
    const problem =
      unchanged &&
      damageIn(unchanged.id, () => {
        const changed = changedFault(unchanged, other && headIn(logIn(other)), this.#hash)
        return changed === undefined ? right(undefined) : left(changed)
      })
    if (problem !== undefined && isLeft(problem)) return problem
    this.#statements.removeOperations().run(raw['key'] as bigint)
    this.#statements.removeLease().run(raw['key'] as bigint)
    this.#statements.removeLog().run(raw['key'] as bigint)
    return right(this.#orphaned(raw))
  }

  /** Mark a removed log's segment. If the log's name is damaged, the segment may be another log's and stays. */
  #orphaned(raw: RawLog): number | undefined {
    const log = orDamage(() => logIn(raw))
    if (log instanceof Damaged || !nameIsSound(raw, log)) return undefined
    this.#statements.orphan().run(log.segment)
    return log.segment
  }
}

/** Call a function that reads a log's rows or head. Damage becomes a fault. */
export const damageIn = <T>(id: string, work: () => Either<StoreFault, T>): Either<StoreFault, T> => {
  const done = orDamage(work)
  if (!(done instanceof Damaged)) return done
  return left({ _tag: 'DamagedLog', id, position: done.position, reason: done.reason })
}

const statements = (db: DatabaseSync) => ({
  ...prepareAllOnce(db, {
    addLog:
      'insert into log (scope, id, segment, size, entries, tokens, peaks, root, created, used, sized, meta, changes, appended, sum, meta_sum) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?)',
    addSegment: 'insert into segment (scope, parent, base, sum) values (?, ?, ?, ?)',
    addFork: 'update segment set forks = forks + 1 where key = ?',
    update: 'update log set meta = ?, changes = ?, meta_sum = ? where key = ?',
    removeOperations: 'delete from operation where log = ?',
    removeLease: 'delete from lease where log = ?',
    removeLog: 'delete from log where key = ?',
    orphan: 'update segment set orphan = 1 where key = ?',
    next: 'select key from log where scope = ? and key >= ? order by key limit 1',
    piece: `select count(*) as logs, group_concat(quote(id) || size || hex(root)) as heads
      from (select id, size, root from log where scope = ? and key >= ? and key < ? order by key)`,
  }),
  log: selectLog(db, 'where scope = ? and id = ?'),
  list: selectLog(db, 'where scope = ? and key < ? order by key desc'),
  recent: selectLog(
    db,
    'where scope = ? and used <= ? and (coalesce(appended, created), key) < (?, ?) order by used desc, coalesce(appended, created) desc, key desc',
  ),
  // Sorts the keys first, without the other columns.
  large: selectLog(
    db,
    'where key = place',
    `(select key as place from log where scope = ? and sized >= ? and sized <= ? and (entries, key) < (?, ?)
      order by sized desc, entries desc, key desc limit -1) cross join log`,
  ),
  sameSize: selectLog(db, 'where scope = ? and sized = ? and key < ? order by key desc'),
  smaller: selectLog(db, 'where scope = ? and sized < ? order by sized desc, key desc'),
  sameTokens: selectLog(db, `where scope = ? and ${tokensColumn} = ? and key < ? order by key desc`),
  fewerTokens: selectLog(db, `where scope = ? and ${tokensColumn} < ? order by ${tokensColumn} desc, key desc`),
  byId: selectLog(db, 'where scope = ? and id > ? order by id'),
  // The logs on the segment with the first rows, and on its forks, recursively.
  family: selectLog(
    db,
    `where segment in (with recursive kin (key) as
      (select ? union select segment.key from segment join kin on segment.parent = kin.key) select key from kin)`,
  ),
})
