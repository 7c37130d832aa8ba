/** The store driver over a SQLite file. Reads are answered on the spot, in pieces; writes go through the one writer. */
import type { DatabaseSync } from 'node:sqlite'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from '../../json/index.ts'
import { blockIdOf, emptyRange, peakEnds, type BlockId, type CompactRange, type Hash } from '../../proof/index.ts'
import type { JsonObject } from '../../json/index.ts'
import { momentOf } from '../clock.ts'
import {
  cursorText,
  type Answer,
  type CheckedAppend,
  type CheckedQuery,
  type Cursor,
  type StoreDriver,
} from '../driver.ts'
import { storeFaultText, type StoreFault } from '../fault.ts'
import { matches, positionsOf, type Positions } from '../lookup.ts'
import { Damaged } from '../damaged.ts'
import {
  againstFork,
  conflict,
  diverged,
  entriesBefore,
  growth,
  isPlanFor,
  isLate,
  logInfo,
  missedRange,
  namedElsewhere,
  olderSize,
  repeated,
  sameHead,
  type Growth,
} from '../rules.ts'
import type { Appended, DamagedEntry, LogInfo, LogPage, RowRange } from '../store.ts'
import type { Head, StoredRow } from '../row.ts'
import { headOf, rangeOf } from '../tree.ts'
import { Blocks } from './blocks.ts'
import { Elsewhere } from './elsewhere.ts'
import { Leases } from './leases.ts'
import { isDamage } from './fault.ts'
import {
  headIn,
  headIsSound,
  headSum,
  infoIn,
  logIn,
  metaIsSound,
  metaSum,
  selectLog,
  type LogRow,
  type RawLog,
} from './log.ts'
import { rollBack } from './open.ts'
import { prepared, type Prepared } from './prepared.ts'
import { Rows } from './rows.ts'
import { fits, sumOf } from './sum.ts'
import { Sweeper } from './sweep.ts'
import type { Writer } from './writer.ts'

/** How many rows are read before everybody else gets a turn. */
const piece = 2000

/** The key of a segment is the upper half of the ids of its rows. */
const lastSegment = 2 ** 31 - 1

export const sqliteDriver = (
  db: DatabaseSync,
  format: number,
  writer: Writer,
  hash: Hash,
  now: () => number,
): StoreDriver => {
  const rows = new Rows(db, format, () => writer.writing)
  const blocks = new Blocks(db)
  const sweeper = new Sweeper(db, writer, rows)
  const elsewhere = new Elsewhere(db)
  const leases = new Leases(db, format, writer, (scope, id, work) => withLog(scope, id, (log) => work(log)))
  const q = statements(db, format)

  const scopeKeys = new Map<string, number>()
  const scopeKey = (name: string): number => {
    const known = scopeKeys.get(name)
    if (known !== undefined) return known
    const found = q.scope().get(name) as { readonly key: number } | undefined
    if (found === undefined) return -1 // no scope has this key, so nothing is found in it
    if (!writer.writing) scopeKeys.set(name, found.key) // one that is being made may yet be rolled back
    return found.key
  }
  const ownScope = (name: string): number => {
    const known = scopeKey(name)
    if (known !== -1) return known
    q.addScope().run(name, sumOf(name))
    return scopeKey(name)
  }
  const rawOf = (scope: string, id: string): RawLog | undefined =>
    q.log().get(scopeKey(scope), id) as RawLog | undefined

  /** Several reads that see the same moment. */
  const together = <T>(work: () => T): T => {
    try {
      db.exec('begin')
      const found = work()
      db.exec('commit')
      return found
    } catch (error) {
      rollBack(db)
      throw error
    }
  }
  const withLog = <T>(
    scope: string,
    id: string,
    work: (log: LogRow, raw: RawLog) => Either<StoreFault, T>,
  ): Either<StoreFault, T> =>
    damageIn(id, () => {
      const raw = rawOf(scope, id)
      return raw === undefined ? left({ _tag: 'NoSuchLog', id }) : work(logIn(raw), raw)
    })
  const rangeAt = (segment: number, size: number): CompactRange => ({
    size,
    peaks: rows.nodes(
      segment,
      peakEnds(size).map((end) => end - 1),
    ),
  })

  const rangeIn = (log: LogRow): CompactRange => rangeOf(headIn(log), split(log.peaks), hash)
  /** Blocks that are there, as their ids say. */
  const soundIn = (scope: number, ids: readonly BlockId[]): ReadonlySet<BlockId> =>
    new Set([...blocks.get(scope, ids)].filter(([id, bytes]) => blockIdOf(bytes, hash) === id).map(([id]) => id))

  const create = (
    scope: number,
    id: string,
    segment: number,
    { range, entries, appended }: Pick<Growth, 'range' | 'entries' | 'appended'>,
    meta: JsonObject,
  ): LogInfo => {
    const head = headOf(range, hash)
    const created = momentOf(now)
    const { size } = range
    const [peaks, root] = [joined(range.peaks), Buffer.from(head.root, 'hex')]
    const text = JSON.stringify(meta)
    const headMark = headSum({ scope, id, segment, size, entries, peaks, root, appended: appended ?? null })
    const metaMark = metaSum(scope, id, created, text, 1)
    q.addLog().run(scope, id, segment, size, entries, peaks, root, created, text, appended ?? null, headMark, metaMark)
    return logInfo({ id, head, entries, created, appended, meta, version: 1 })
  }
  const addSegment = (scope: number, parent: number | null, base: number): number => {
    const key = Number(q.addSegment().run(scope, parent, base, sumOf(scope, parent, base)).lastInsertRowid)
    if (key > lastSegment)
      throw new Error(`segments are numbered up to ${lastSegment}, and the next one is ${key}: repair the store`)
    if (parent !== null) q.addFork().run(parent)
    return key
  }

  /** Why rows that expect this head can't be appended. */
  const against = (log: LogRow, expected: Head): StoreFault => {
    const { id } = log
    const actual = headIn(log)
    const size = olderSize(expected, actual)
    if (!isLate(expected, size === undefined ? undefined : rangeAt(log.segment, size), hash))
      return diverged(id, expected, actual)
    const { from, to } = missedRange(expected, actual)
    return conflict(id, expected, actual, rows.read(log.segment, from, to))
  }

  const answered = (
    log: LogRow,
    operation: string,
    given: CheckedAppend['rows'],
  ): Either<StoreFault, Appended> | undefined => {
    const found = q.operation().get(log.key, operation) as
      | { readonly base: number; readonly size: number; readonly root: Uint8Array; readonly sum: number | null }
      | undefined
    if (found === undefined) return undefined
    const { base: from, size, root, sum } = found
    if (!fits(sum, log.key, operation, from, size, root))
      throw new Damaged(log.size, `what it knows of operation ${JSON.stringify(operation)} is not as it was written`)
    const head = { size, root: Buffer.from(root).toString('hex') }
    return repeated(log.id, { operation, from, head }, given, rows.read(log.segment, from, size))
  }

  /** What rows speak of and is not there, or not as its id says. */
  const lacking = (scope: number, given: CheckedAppend): StoreFault | undefined => {
    const named = namedElsewhere(given)
    if (named.length === 0) return undefined
    const missing = blocks.missing(scope, named)
    if (missing.length > 0) return { _tag: 'MissingBlock', ids: missing }
    const sound = soundIn(scope, named)
    const damaged = named.filter((id) => !sound.has(id))
    return damaged.length > 0 ? { _tag: 'DamagedBlock', ids: damaged } : undefined
  }

  /** Store what a log has grown by. */
  const store = (scope: number, segment: number, grown: Growth, { blocks: given }: CheckedAppend): void => {
    blocks.put(scope, given, false)
    for (const row of grown.rows) {
      rows.append(segment, row)
      blocks.mention(scope, segment, row.position, row.row.blocks)
    }
    const [first] = grown.rows
    if (first !== undefined) rows.checkThere(segment, first.position, first.position + grown.rows.length)
  }

  const append = (scope: string, log: LogRow, given: CheckedAppend): Either<StoreFault, Appended> => {
    const { expected, operation } = given
    const before = operation === undefined ? undefined : answered(log, operation, given.rows)
    if (before !== undefined) return before
    const unleased = leases.against(log, given)
    if (unleased !== undefined) return left(unleased)
    rows.checkSegment(log.segment)
    const head = headIn(log)
    if (!sameHead(expected, head)) return left(against(log, expected))
    const peaks = split(log.peaks)
    if (!isPlanFor(given.plan, { head, peaks })) rangeOf(head, peaks, hash)
    const key = scopeKey(scope)
    const problem = lacking(key, given)
    if (problem !== undefined) return left(problem)
    const grown = growth({ head, entries: log.entries, peaks }, given, hash)
    store(key, log.segment, grown, given)
    const { size } = grown.range
    const after = {
      size,
      entries: grown.entries,
      peaks: joined(grown.peaks),
      root: Buffer.from(grown.head.root, 'hex'),
    }
    const appended = grown.rows.length === 0 ? log.appended : (grown.appended ?? null)
    q.grow().run(
      size,
      after.entries,
      after.peaks,
      after.root,
      appended,
      headSum({ ...log, ...after, appended }),
      log.key,
    )
    if (operation !== undefined)
      q.addOperation().run(
        log.key,
        operation,
        log.size,
        size,
        after.root,
        sumOf(log.key, operation, log.size, size, after.root),
      )
    return right(grown.answer)
  }

  const fork = (scope: string, log: LogRow, to: string, at: number, meta: JsonObject): Either<StoreFault, LogInfo> => {
    const problem = againstFork(log.id, at, log.size)
    if (problem !== undefined) return left(problem)
    if (rawOf(scope, to) !== undefined) return left({ _tag: 'LogExists', id: to })
    const entries = entriesBefore(at, at === 0 ? undefined : rows.placeAt(log.segment, at - 1))
    const key = scopeKey(scope)
    const segment = addSegment(key, rows.ownerOf(log.segment, at), at)
    const range = at === 0 ? emptyRange : rangeAt(log.segment, at)
    return right(create(key, to, segment, { range, entries, appended: undefined }, meta))
  }

  /** Mark a removed log's segment. Undefined: the log may have named another's, which stays; a deep check tells. */
  const orphaned = (raw: RawLog): number | undefined => {
    try {
      const log = logIn(raw)
      if (!headIsSound(raw, log)) return undefined
      q.orphan().run(log.segment)
      return log.segment
    } catch (error) {
      if (error instanceof Damaged) return undefined
      throw error
    }
  }

  const read = async (scope: string, id: string, range: RowRange): Answer<readonly StoredRow[]> => {
    const placed = together(() =>
      withLog(scope, id, (log) =>
        right({
          segment: log.segment,
          positions: positionsOf({ head: headIn(log), entries: log.entries }, range, (position) =>
            rows.placeAt(log.segment, position),
          ),
        }),
      ),
    )
    if (isLeft(placed)) return placed
    const { segment, positions } = placed.right
    const found: StoredRow[] = []
    for (let from = positions.start; from < positions.end; from += piece) {
      if (from > positions.start) await new Promise(setImmediate)
      const part = damageIn(id, () =>
        right(readRows(segment, { start: from, end: Math.min(from + piece, positions.end) })),
      )
      // Rows that are gone because the log was removed meanwhile are no damage.
      if (isLeft(part))
        return Number(rawOf(scope, id)?.['segment'] ?? -1) === segment ? part : left({ _tag: 'NoSuchLog', id })
      for (const row of part.right) if (range.only === undefined || row.kind === range.only) found.push(row)
    }
    return right(Object.freeze(found))
  }

  /** Where the file itself is damaged, the first row that can't be read is found one by one. */
  const readRows = (segment: number, { start, end }: Positions): readonly StoredRow[] => {
    try {
      return rows.read(segment, start, end)
    } catch (error) {
      if (!isDamage(error)) throw error
      const sound: StoredRow[] = []
      for (let position = start; position < end; position++) {
        try {
          sound.push(...rows.read(segment, position, position + 1))
        } catch (inner) {
          throw inner instanceof Damaged ? inner : new Damaged(position, "it can't be read: the file is damaged there")
        }
      }
      return sound
    }
  }

  return {
    hash,
    now,
    create: (scope, id, meta, first) =>
      writer.write(() => {
        if (rawOf(scope, id) !== undefined) return left({ _tag: 'LogExists', id })
        const problem = lacking(scopeKey(scope), first)
        if (problem !== undefined) return left(problem)
        const key = ownScope(scope)
        const segment = addSegment(key, null, 0)
        const grown = growth({ head: first.expected, entries: 0, peaks: emptyRange.peaks }, first, hash)
        store(key, segment, grown, first)
        return right(create(key, id, segment, grown, meta))
      }, sizeOf(first)),
    info: async (scope, id) =>
      withLog(scope, id, (log, raw) => {
        rangeIn(log)
        return right(infoIn(raw))
      }),
    list: async (scope, query) =>
      right(
        listed(
          (query.by === 'created'
            ? q.list().iterate(scopeKey(scope), query.after?.key ?? Number.MAX_SAFE_INTEGER)
            : q
                .recent()
                .iterate(
                  scopeKey(scope),
                  query.after?.appended ?? Number.MAX_SAFE_INTEGER,
                  query.after?.key ?? 0,
                )) as IterableIterator<unknown> as IterableIterator<RawLog>,
          query,
        ),
      ),
    update: (scope, id, expected, meta) =>
      writer.write(() =>
        withLog(scope, id, (log, raw) => {
          const info = infoIn(raw)
          if (info.version !== expected)
            return left({ _tag: 'MetaConflict', id, expected, actual: info.version, meta: info.meta })
          if (!metaIsSound(raw, info)) throw new Damaged(log.size, 'its metadata is not as it was written')
          const text = JSON.stringify(meta)
          const version = expected + 1
          q.update().run(text, version, metaSum(log.scope, id, info.created, text, version), log.key)
          return right(Object.freeze({ ...info, meta, version }))
        }),
      ),
    append: (scope, id, given) =>
      writer.write(
        () =>
          withLog(scope, id, (log, raw) => {
            // What is appended to a log whose head is not as it was written might not be found again.
            if (!headIsSound(raw, log)) throw new Damaged(log.size, 'its head is not as it was written')
            return append(scope, log, given)
          }),
        sizeOf(given),
      ),
    read,
    nodes: async (scope, id, positions) =>
      together(() => withLog(scope, id, (log) => right(Object.freeze(rows.nodes(log.segment, positions))))),
    fork: (scope, id, to, at, meta) => writer.write(() => withLog(scope, id, (log) => fork(scope, log, to, at, meta))),
    remove: async (scope, id) => {
      const removed = await writer.write((): Either<StoreFault, number | undefined> => {
        const raw = rawOf(scope, id)
        if (raw === undefined) return left({ _tag: 'NoSuchLog', id })
        q.removeOperations().run(raw['key'] as bigint)
        q.removeLease().run(raw['key'] as bigint)
        q.removeLog().run(raw['key'] as bigint)
        return right(orphaned(raw))
      })
      if (isLeft(removed)) return removed
      // The log is gone. Its rows follow in pieces, so that a long one does not hold everything up.
      const swept = removed.right === undefined ? right(undefined) : await sweeper.sweep(removed.right)
      const tidied = isLeft(swept) ? swept : await sweeper.tidy()
      if (!isLeft(tidied)) return tidied
      const cause = new Error(storeFaultText(tidied.left), { cause: tidied.left })
      return left({ _tag: 'Io', operation: 'delete the rows of a removed log', cause, outcome: 'unknown' })
    },
    lease: (scope, id, change) => leases.change(scope, id, change),
    putBlocks: (scope, given) =>
      writer.write(
        () => {
          blocks.put(ownScope(scope), given, true)
          return right(undefined)
        },
        given.reduce((sum, { bytes }) => sum + bytes.length, 0),
      ),
    getBlocks: async (scope, ids) => right(blocks.get(scopeKey(scope), ids)),
    hasBlocks: async (scope, ids) => right(soundIn(scopeKey(scope), ids)),
    // Its versions are of the whole file: a watcher of one log hears of all.
    watch: async (_scope, _id, wake) => elsewhere.watch(wake),
    close: async () => {
      elsewhere.end()
      await writer.end()
      db.close()
    },
  }
}

const statements = (db: DatabaseSync, format: number): { readonly [name in StatementName]: Prepared } => ({
  scope: prepared(db, 'select key from scope where name = ?'),
  addScope: prepared(db, 'insert into scope (name, sum) values (?, ?) on conflict do nothing'),
  log: selectLog(db, format, 'where scope = ? and id = ?'),
  list: selectLog(db, format, 'where scope = ? and key < ? order by key desc'),
  recent: selectLog(
    db,
    format,
    `where scope = ? and (${lastUse(format)}, key) < (?, ?) order by ${lastUse(format)} desc, key desc`,
  ),
  addLog: prepared(
    db,
    'insert into log (scope, id, segment, size, entries, peaks, root, created, meta, changes, appended, sum, meta_sum) values (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?)',
  ),
  addSegment: prepared(db, 'insert into segment (scope, parent, base, sum) values (?, ?, ?, ?)'),
  addFork: prepared(db, 'update segment set forks = forks + 1 where key = ?'),
  grow: prepared(db, 'update log set size = ?, entries = ?, peaks = ?, root = ?, appended = ?, sum = ? where key = ?'),
  update: prepared(db, 'update log set meta = ?, changes = ?, meta_sum = ? where key = ?'),
  operation: prepared(db, 'select base, size, root, sum from operation where log = ? and id = ?'),
  addOperation: prepared(db, 'insert into operation (log, id, base, size, root, sum) values (?, ?, ?, ?, ?, ?)'),
  removeOperations: prepared(db, 'delete from operation where log = ?'),
  removeLease: prepared(db, 'delete from lease where log = ?'),
  removeLog: prepared(db, 'delete from log where key = ?'),
  orphan: prepared(db, 'update segment set orphan = 1 where key = ?'),
})

const lastUse = (format: number): string => (format < 3 ? 'created' : 'coalesce(appended, created)')

type StatementName =
  | 'scope'
  | 'addScope'
  | 'log'
  | 'list'
  | 'recent'
  | 'addLog'
  | 'addSegment'
  | 'addFork'
  | 'grow'
  | 'update'
  | 'operation'
  | 'addOperation'
  | 'removeOperations'
  | 'removeLease'
  | 'removeLog'
  | 'orphan'

const damageIn = <T>(id: string, work: () => Either<StoreFault, T>): Either<StoreFault, T> => {
  try {
    return work()
  } catch (error) {
    if (error instanceof Damaged)
      return left({ _tag: 'DamagedLog', id, position: error.position, reason: error.reason })
    throw error
  }
}

const listed = (found: Iterable<RawLog>, { limit, where, by }: CheckedQuery): LogPage => {
  const logs: LogInfo[] = []
  const damaged: DamagedEntry[] = []
  const page = (): Omit<LogPage, 'next'> => ({
    logs: Object.freeze(logs),
    ...(damaged.length > 0 && { damaged: Object.freeze(damaged) }),
  })
  let last: Cursor = { appended: undefined, key: 0 }
  for (const raw of found) {
    const info = readable(raw)
    if (!(info instanceof Damaged) && !matches(info.meta, where)) continue
    if (logs.length + damaged.length === limit) return Object.freeze({ ...page(), next: cursorText(last) })
    if (info instanceof Damaged) damaged.push(Object.freeze({ id: String(raw['id']), reason: info.reason }))
    else logs.push(info)
    last = {
      appended: by === 'appended' ? Number(raw['appended'] ?? raw['created']) : undefined,
      key: Number(raw['key']),
    }
  }
  return Object.freeze(page())
}

const readable = (raw: RawLog): LogInfo | Damaged => {
  try {
    return infoIn(raw)
  } catch (error) {
    if (error instanceof Damaged) return error
    throw error
  }
}

const sizeOf = ({ rows, blocks }: CheckedAppend): number =>
  rows.reduce((sum, { body }) => sum + body.length, 0) + blocks.reduce((sum, { bytes }) => sum + bytes.length, 0)

/** A compact range's peaks as the file has them: one after the other. */
const joined = (peaks: readonly Uint8Array[]): Uint8Array => Buffer.concat(peaks)

const split = (bytes: Uint8Array): readonly Uint8Array[] =>
  Array.from({ length: bytes.length / 32 }, (_, index) => bytes.slice(index * 32, index * 32 + 32))
