/** The store driver over a SQLite file. Reads are answered on the spot, in pieces; writes go through the one writer. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { isLeft, left, right, type Either } from 'fp-ts/lib/Either.js'
import type { Hash } from '../../digest/index.ts'
import type { JsonObject } from '../../json/index.ts'
import type { BlockId } from '../../message/index.ts'
import { emptyRange, peakEnds, type CompactRange } from '../../proof/index.ts'
import type { Answer, CheckedAppend, CheckedQuery, CheckedRow, StoreDriver } from '../driver.ts'
import type { StoreFault } from '../fault.ts'
import { Damaged, matches, maxMissed, positionsOf, type Positions } from '../lookup.ts'
import type { Appended, Head, LogInfo, RowRange, StoredRow } from '../store.ts'
import { grow, headOf } from '../tree.ts'
import { Blocks } from './blocks.ts'
import { codeOf, corrupt } from './fault.ts'
import { Rows } from './rows.ts'
import { Sweeper } from './sweep.ts'
import type { Writer } from './writer.ts'

/** A log as the file has it. */
interface LogRow {
  readonly key: number
  readonly id: string
  readonly segment: number
  readonly size: number
  readonly entries: number
  readonly peaks: Uint8Array
  readonly root: Uint8Array
  readonly created: number
  readonly meta: string
  readonly version: number
}

/** How many rows are read before everybody else gets a turn. */
const piece = 2000

export const sqliteDriver = (db: DatabaseSync, writer: Writer, hash: Hash, now: () => number): StoreDriver => {
  const rows = new Rows(db)
  const blocks = new Blocks(db)
  const sweeper = new Sweeper(db, writer, rows)
  const q = statements(db)

  const scopeKeys = new Map<string, number>()
  const scopeKey = (name: string): number => {
    const known = scopeKeys.get(name)
    if (known !== undefined) return known
    const found = q.scope.get(name) as { readonly key: number } | undefined
    if (found === undefined) return -1 // no scope has this key, so nothing is found in it
    if (!writer.writing) scopeKeys.set(name, found.key) // one that is being made may yet be rolled back
    return found.key
  }
  const ownScope = (name: string): number => {
    const known = scopeKey(name)
    if (known !== -1) return known
    q.addScope.run(name)
    return scopeKey(name)
  }
  const logOf = (scope: string, id: string): LogRow | undefined => q.log.get(scopeKey(scope), id) as LogRow | undefined

  /** Several reads that see the same moment. */
  const together = <T>(work: () => T): T => {
    db.exec('begin')
    try {
      return work()
    } finally {
      db.exec('commit')
    }
  }
  const withLog = <T>(scope: string, id: string, work: (log: LogRow) => Either<StoreFault, T>): Either<StoreFault, T> => {
    const log = logOf(scope, id)
    return log === undefined ? left({ _tag: 'NoSuchLog', id }) : damageIn(id, () => work(log))
  }
  const rangeAt = (segment: number, size: number): CompactRange => ({ size, peaks: rows.nodes(segment, peakEnds(size).map((end) => end - 1)) })

  const create = (scope: number, id: string, segment: number, range: CompactRange, entries: number, meta: JsonObject): LogInfo => {
    const head = headOf(range, hash)
    const created = now()
    q.addLog.run(scope, id, segment, range.size, entries, joined(range.peaks), Buffer.from(head.root, 'hex'), created, JSON.stringify(meta))
    return Object.freeze({ id, head, entries, created, meta, version: 1 })
  }
  const addSegment = (scope: number, parent: number | null, base: number): number => {
    const { lastInsertRowid } = q.addSegment.run(scope, parent, base)
    return Number(lastInsertRowid)
  }

  const conflict = (log: LogRow, expected: Head): StoreFault => {
    const { id } = log
    const actual = headIn(log)
    const grown = Number.isInteger(expected.size) && expected.size >= 0 && expected.size < actual.size
    if (!grown || headOf(rangeAt(log.segment, expected.size), hash).root !== expected.root) return { _tag: 'Diverged', id, expected, actual }
    return { _tag: 'Conflict', id, expected, actual, missed: Object.freeze(rows.read(log.segment, expected.size, Math.min(actual.size, expected.size + maxMissed))) }
  }

  const repeated = (log: LogRow, operation: string, given: readonly CheckedRow[]): Either<StoreFault, Appended> | undefined => {
    const found = q.operation.get(log.key, operation) as { readonly base: number; readonly size: number; readonly root: Uint8Array } | undefined
    if (found === undefined) return undefined
    const { base: from, size } = found
    const same = given.length === size - from && rows.read(log.segment, from, size).every(({ kind, body }, index) => given[index]?.kind === kind && given[index].body === body)
    if (!same) return left({ _tag: 'OperationMismatch', id: log.id, operation, from })
    return right(Object.freeze({ from, head: Object.freeze({ size, root: hex(found.root) }) }))
  }

  const append = (scope: string, log: LogRow, { expected, rows: given, blocks: bytes, operation }: CheckedAppend): Either<StoreFault, Appended> => {
    const before = operation === undefined ? undefined : repeated(log, operation, given)
    if (before !== undefined) return before
    const actual = headIn(log)
    if (expected.size !== actual.size || expected.root !== actual.root) return left(conflict(log, expected))
    const key = scopeKey(scope)
    const named = new Set(given.flatMap((row) => row.blocks))
    for (const { id } of bytes) named.delete(id)
    const missing = blocks.missing(key, [...named])
    if (missing.length > 0) return left({ _tag: 'MissingBlock', ids: missing })

    blocks.put(key, bytes, false)
    const { range, nodes } = grow({ size: log.size, peaks: split(log.peaks) }, given.map(({ leaf }) => leaf), hash)
    let { entries } = log
    for (const [offset, { kind, body, blocks: mentioned }] of given.entries()) {
      const position = log.size + offset
      const index = kind === 'entry' ? entries++ : position - entries
      rows.append(log.segment, position, { kind, index }, nodes[offset] as Uint8Array, body)
      blocks.mention(key, log.segment, position, mentioned)
    }
    const head = headOf(range, hash)
    const root = Buffer.from(head.root, 'hex')
    q.grow.run(range.size, entries, joined(range.peaks), root, log.key)
    if (operation !== undefined) q.addOperation.run(log.key, operation, log.size, range.size, root)
    return right(Object.freeze({ from: log.size, head }))
  }

  const fork = (scope: string, log: LogRow, to: string, at: number, meta: JsonObject): Either<StoreFault, LogInfo> => {
    if (!(Number.isInteger(at) && at >= 0 && at <= log.size)) return left({ _tag: 'BeyondEnd', id: log.id, at, size: log.size })
    if (logOf(scope, to) !== undefined) return left({ _tag: 'LogExists', id: to })
    const last = at === 0 ? undefined : rows.placeAt(log.segment, at - 1)
    const entries = last === undefined ? 0 : last.kind === 'entry' ? last.index + 1 : at - 1 - last.index
    const key = scopeKey(scope)
    const segment = addSegment(key, rows.ownerOf(log.segment, at), at)
    return right(create(key, to, segment, at === 0 ? emptyRange : rangeAt(log.segment, at), entries, meta))
  }

  const read = async (scope: string, id: string, range: RowRange): Answer<readonly StoredRow[]> => {
    const placed = together(() =>
      withLog(scope, id, (log) => right({ segment: log.segment, positions: positionsOf({ head: headIn(log), entries: log.entries }, range, (position) => rows.placeAt(log.segment, position)) })),
    )
    if (isLeft(placed)) return placed
    const { segment, positions } = placed.right
    const found: StoredRow[] = []
    for (let from = positions.start; from < positions.end; from += piece) {
      if (from > positions.start) await new Promise(setImmediate)
      const part = damageIn(id, () => right(readable(segment, { start: from, end: Math.min(from + piece, positions.end) })))
      // Rows that are gone because the log was removed meanwhile are no damage.
      if (isLeft(part)) return logOf(scope, id)?.segment === segment ? part : left({ _tag: 'NoSuchLog', id })
      for (const row of part.right) if (range.only === undefined || row.kind === range.only) found.push(row)
    }
    return right(Object.freeze(found))
  }

  /** Where the file itself is damaged, the first row that can't be read is found one by one. */
  const readable = (segment: number, { start, end }: Positions): readonly StoredRow[] => {
    try {
      return rows.read(segment, start, end)
    } catch (error) {
      if (codeOf(error) !== corrupt) throw error
      const sound: StoredRow[] = []
      for (let position = start; position < end; position++) {
        try {
          sound.push(...rows.read(segment, position, position + 1))
        } catch (inner) {
          throw inner instanceof Damaged ? inner : new Damaged(position, 'it can\'t be read: the file is damaged there')
        }
      }
      return sound
    }
  }

  sweeper.begin()

  return {
    hash,
    create: (scope, id, meta) =>
      writer.write(() => {
        if (logOf(scope, id) !== undefined) return left({ _tag: 'LogExists', id })
        const key = ownScope(scope)
        return right(create(key, id, addSegment(key, null, 0), emptyRange, 0, meta))
      }),
    info: async (scope, id) => withLog(scope, id, (log) => right(infoOf(log))),
    list: async (scope, query) => right(listed(q.list.iterate(scopeKey(scope), query.after ?? Number.MAX_SAFE_INTEGER) as IterableIterator<unknown> as IterableIterator<LogRow>, query)),
    update: (scope, id, expected, meta) =>
      writer.write(() =>
        withLog(scope, id, (log) => {
          if (log.version !== expected) return left({ _tag: 'MetaConflict', id, expected, actual: log.version, meta: infoOf(log).meta })
          q.update.run(JSON.stringify(meta), log.key)
          return right(Object.freeze({ ...infoOf(log), meta, version: expected + 1 }))
        }),
      ),
    append: (scope, id, given) => writer.write(() => withLog(scope, id, (log) => append(scope, log, given)), sizeOf(given)),
    read,
    nodes: async (scope, id, positions) => together(() => withLog(scope, id, (log) => right(Object.freeze(rows.nodes(log.segment, positions))))),
    fork: (scope, id, to, at, meta) => writer.write(() => withLog(scope, id, (log) => fork(scope, log, to, at, meta))),
    remove: async (scope, id) => {
      const removed = await writer.write(() =>
        withLog(scope, id, (log) => {
          q.removeOperations.run(log.key)
          q.removeLog.run(log.key)
          q.orphan.run(log.segment)
          return right(log.segment)
        }),
      )
      // The log is gone. Its rows follow in pieces, so that a long one does not hold everything up.
      return isLeft(removed) ? removed : sweeper.sweep(removed.right)
    },
    putBlocks: (scope, given) =>
      writer.write(
        () => {
          blocks.put(ownScope(scope), given, true)
          return right(undefined)
        },
        given.reduce((sum, { bytes }) => sum + bytes.length, 0),
      ),
    getBlocks: async (scope, ids) => right(blocks.get(scopeKey(scope), ids)),
    hasBlocks: async (scope, ids) => {
      const missing = new Set(blocks.missing(scopeKey(scope), ids))
      return right(new Set(ids.filter((id: BlockId) => !missing.has(id))))
    },
    close: async () => {
      await writer.end()
      db.close()
    },
  }
}

const statements = (db: DatabaseSync): { readonly [name in StatementName]: StatementSync } => ({
  scope: db.prepare('select key from scope where name = ?'),
  addScope: db.prepare('insert into scope (name) values (?) on conflict do nothing'),
  log: db.prepare('select key, id, segment, size, entries, peaks, root, created, meta, version from log where scope = ? and id = ?'),
  addLog: db.prepare('insert into log (scope, id, segment, size, entries, peaks, root, created, meta, version) values (?, ?, ?, ?, ?, ?, ?, ?, ?, 1)'),
  addSegment: db.prepare('insert into segment (scope, parent, base) values (?, ?, ?)'),
  grow: db.prepare('update log set size = ?, entries = ?, peaks = ?, root = ? where key = ?'),
  update: db.prepare('update log set meta = ?, version = version + 1 where key = ?'),
  list: db.prepare('select key, id, segment, size, entries, peaks, root, created, meta, version from log where scope = ? and key < ? order by key desc'),
  operation: db.prepare('select base, size, root from operation where log = ? and id = ?'),
  addOperation: db.prepare('insert into operation (log, id, base, size, root) values (?, ?, ?, ?, ?)'),
  removeOperations: db.prepare('delete from operation where log = ?'),
  removeLog: db.prepare('delete from log where key = ?'),
  orphan: db.prepare('update segment set orphan = 1 where key = ?'),
})

type StatementName = 'scope' | 'addScope' | 'log' | 'addLog' | 'addSegment' | 'grow' | 'update' | 'list' | 'operation' | 'addOperation' | 'removeOperations' | 'removeLog' | 'orphan'

const damageIn = <T>(id: string, work: () => Either<StoreFault, T>): Either<StoreFault, T> => {
  try {
    return work()
  } catch (error) {
    if (error instanceof Damaged) return left({ _tag: 'DamagedLog', id, position: error.position, reason: error.reason })
    throw error
  }
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')

const headIn = ({ size, root }: LogRow): Head => Object.freeze({ size, root: hex(root) })

const infoOf = (log: LogRow): LogInfo => {
  const { id, entries, created, meta, version } = log
  return Object.freeze({ id, head: headIn(log), entries, created, meta: JSON.parse(meta) as JsonObject, version })
}

const listed = (found: Iterable<LogRow>, { limit, where }: CheckedQuery): { readonly logs: readonly LogInfo[]; readonly next?: string } => {
  const logs: LogInfo[] = []
  let last = 0
  for (const log of found) {
    const info = infoOf(log)
    if (!matches(info.meta, where)) continue
    if (logs.length === limit) return Object.freeze({ logs: Object.freeze(logs), next: String(last) })
    logs.push(info)
    last = log.key
  }
  return Object.freeze({ logs: Object.freeze(logs) })
}

const sizeOf = ({ rows, blocks }: CheckedAppend): number => rows.reduce((sum, { body }) => sum + body.length, 0) + blocks.reduce((sum, { bytes }) => sum + bytes.length, 0)

/** A compact range's peaks as the file has them: one after the other. */
const joined = (peaks: readonly Uint8Array[]): Uint8Array => Buffer.concat(peaks)

const split = (bytes: Uint8Array): readonly Uint8Array[] => Array.from({ length: bytes.length / 32 }, (_, index) => bytes.slice(index * 32, index * 32 + 32))
