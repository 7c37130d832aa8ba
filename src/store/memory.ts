/** A store in memory: for tests, for browsers, and to see what a store does. */
import { isLeft, left, right, type Either } from 'fp-ts/lib/Either.js'
import { portableSha256, type Hash } from '../digest/index.ts'
import type { JsonObject } from '../json/index.ts'
import type { BlockId } from '../message/index.ts'
import { emptyRange, peakEnds, type CompactRange } from '../proof/index.ts'
import { storeOf, type Answer, type Block, type CheckedAppend, type CheckedQuery, type CheckedRow, type StoreDriver } from './driver.ts'
import type { StoreFault } from './fault.ts'
import { matches, maxMissed, positionsOf } from './lookup.ts'
import type { Appended, Head, LogInfo, LogPage, RowRange, Store, StoredRow } from './store.ts'
import { grow, headOf } from './tree.ts'

export interface MemoryOptions {
  /** The scope of the handle. Default: `default`. */
  readonly scope?: string
  /** Default: SHA-256 in JavaScript. */
  readonly hash?: Hash
  /** The time in milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number
}

/**
 * A store that is gone when the program ends.
 *
 * Throws  TypeError, if `scope` can't be one
 */
export const memoryStore = ({ scope, hash = portableSha256, now = Date.now }: MemoryOptions = {}): Store => {
  const store = storeOf(memoryDriver(hash, now), scope)
  if (isLeft(store)) throw new TypeError(`${JSON.stringify(scope)} can't be a scope`)
  return store.right
}

/** The rows that one log has appended. What a fork shares stays with the log that it was forked from. */
interface Segment {
  readonly parent: Segment | undefined
  /** The position of the first row here; those before are the parent's. */
  readonly base: number
  readonly rows: StoredRow[]
  readonly nodes: Uint8Array[]
  /** The blocks that each row speaks of. */
  readonly blocks: (readonly BlockId[])[]
  readonly forks: Set<Segment>
  /** Its log is removed; it is here for its forks only. */
  orphan: boolean
}

interface Log {
  readonly order: number
  readonly segment: Segment
  readonly operations: Map<string, Appended>
  info: LogInfo
  range: CompactRange
}

interface Held {
  readonly bytes: Uint8Array
  /** How many rows speak of it; one that was put on its own counts as one more. */
  uses: number
  kept: boolean
}

interface Scope {
  readonly logs: Map<string, Log>
  readonly blocks: Map<BlockId, Held>
}

const memoryDriver = (hash: Hash, now: () => number): StoreDriver => {
  const scopes = new Map<string, Scope>()
  let created = 0

  const scopeOf = (name: string): Scope => {
    const found = scopes.get(name)
    if (found !== undefined) return found
    const fresh: Scope = { logs: new Map(), blocks: new Map() }
    scopes.set(name, fresh)
    return fresh
  }

  const start = (scope: string, id: string, range: CompactRange, entries: number, meta: JsonObject, segment: Segment): LogInfo => {
    const info: LogInfo = Object.freeze({ id, head: headOf(range, hash), entries, created: now(), meta, version: 1 })
    created += 1
    scopeOf(scope).logs.set(id, { order: created, segment, operations: new Map(), info, range })
    return info
  }

  /** Runs at once, as a whole: there is no other writer between two lines of it. */
  const onLog = async <T>(scope: string, id: string, work: (log: Log) => Either<StoreFault, T>): Answer<T> => {
    const log = scopeOf(scope).logs.get(id)
    return log === undefined ? left({ _tag: 'NoSuchLog', id }) : work(log)
  }

  return {
    hash,
    create: async (scope, id, meta) =>
      scopeOf(scope).logs.has(id) ? left({ _tag: 'LogExists', id }) : right(start(scope, id, emptyRange, 0, meta, segmentOn(undefined, 0))),
    info: (scope, id) => onLog(scope, id, (log) => right(log.info)),
    list: async (scope, query) => right(page(scopeOf(scope).logs.values(), query)),
    update: (scope, id, expected, meta) =>
      onLog(scope, id, (log) => {
        const { version } = log.info
        if (version !== expected) return left({ _tag: 'MetaConflict', id, expected, actual: version, meta: log.info.meta })
        log.info = Object.freeze({ ...log.info, meta, version: version + 1 })
        return right(log.info)
      }),
    append: (scope, id, append) => onLog(scope, id, (log) => appendTo(log, append, scopeOf(scope).blocks, hash)),
    read: (scope, id, range) => onLog(scope, id, (log) => right(rowsOf(log, range))),
    nodes: (scope, id, positions) => onLog(scope, id, (log) => right(Object.freeze(positions.map((position) => nodeAt(log.segment, position).slice())))),
    fork: (scope, id, to, at, meta) =>
      onLog(scope, id, (log) => {
        const { size } = log.info.head
        if (!(Number.isInteger(at) && at >= 0 && at <= size)) return left({ _tag: 'BeyondEnd', id, at, size })
        if (scopeOf(scope).logs.has(to)) return left({ _tag: 'LogExists', id: to })
        const last = at === 0 ? undefined : rowAt(log.segment, at - 1)
        const entries = last === undefined ? 0 : last.kind === 'entry' ? last.index + 1 : at - 1 - last.index
        return right(start(scope, to, rangeAt(log.segment, at), entries, meta, segmentOn(log.segment, at)))
      }),
    remove: (scope, id) =>
      onLog(scope, id, (log) => {
        const { logs, blocks } = scopeOf(scope)
        logs.delete(id)
        log.segment.orphan = true
        release(log.segment, blocks)
        return right(undefined)
      }),
    putBlocks: async (scope, blocks) => {
      for (const held of hold(blocks, scopeOf(scope).blocks)) held.kept = true
      return right(undefined)
    },
    getBlocks: async (scope, ids) => {
      const { blocks } = scopeOf(scope)
      return right(new Map(ids.flatMap((id) => {
        const held = blocks.get(id)
        return held === undefined ? [] : [[id, held.bytes.slice()]]
      })))
    },
    hasBlocks: async (scope, ids) => right(new Set(ids.filter((id) => scopeOf(scope).blocks.has(id)))),
    close: async () => scopes.clear(),
  }
}

const segmentOn = (parent: Segment | undefined, base: number): Segment => {
  let owner = parent
  while (owner !== undefined && base <= owner.base) owner = owner.parent // all that is shared is further up
  const segment: Segment = { parent: owner, base, rows: [], nodes: [], blocks: [], forks: new Set(), orphan: false }
  owner?.forks.add(segment)
  return segment
}

const ownerOf = (segment: Segment, position: number): Segment => {
  let owner = segment
  while (position < owner.base) owner = owner.parent as Segment // rows before the base are a parent's
  return owner
}

const rowAt = (segment: Segment, position: number): StoredRow => {
  const owner = ownerOf(segment, position)
  return owner.rows[position - owner.base] as StoredRow
}

const nodeAt = (segment: Segment, position: number): Uint8Array => {
  const owner = ownerOf(segment, position)
  return owner.nodes[position - owner.base] as Uint8Array
}

const rangeAt = (segment: Segment, size: number): CompactRange => ({ size, peaks: peakEnds(size).map((end) => nodeAt(segment, end - 1)) })

const rowsOf = (log: Log, range: RowRange): readonly StoredRow[] => {
  const { start, end } = positionsOf(log.info, range, (position) => rowAt(log.segment, position))
  const rows: StoredRow[] = []
  for (let position = start; position < end; position++) {
    const row = rowAt(log.segment, position)
    if (range.only === undefined || row.kind === range.only) rows.push(row)
  }
  return Object.freeze(rows)
}

const page = (logs: Iterable<Log>, { limit, after = Infinity, where }: CheckedQuery): LogPage => {
  const found = [...logs].filter(({ order, info }) => order < after && matches(info.meta, where)).toReversed()
  const shown = found.slice(0, limit)
  const infos = Object.freeze(shown.map(({ info }) => info))
  return Object.freeze(found.length > limit ? { logs: infos, next: String(shown.at(-1)?.order) } : { logs: infos })
}

const appendTo = (log: Log, { expected, rows, blocks, operation }: CheckedAppend, held: Map<BlockId, Held>, hash: Hash): Either<StoreFault, Appended> => {
  const { id, head: actual } = log.info
  const before = operation === undefined ? undefined : log.operations.get(operation)
  if (before !== undefined) return isRepeated(log, before, rows) ? right(before) : left({ _tag: 'OperationMismatch', id, operation: operation as string, from: before.from })
  if (expected.size !== actual.size || expected.root !== actual.root) return left(conflict(log, expected, hash))
  const given = new Set(blocks.map((block) => block.id))
  const missing = new Set(rows.flatMap((row) => row.blocks).filter((block) => !given.has(block) && !held.has(block)))
  if (missing.size > 0) return left({ _tag: 'MissingBlock', ids: [...missing] })

  hold(blocks, held)
  const { segment } = log
  const { range, nodes } = grow(log.range, rows.map((row) => row.leaf), hash)
  let { entries } = log.info
  for (const [offset, { kind, body, blocks }] of rows.entries()) {
    const position = actual.size + offset
    const index = kind === 'entry' ? entries++ : position - entries
    segment.rows.push(Object.freeze({ position, kind, index, body }))
    segment.nodes.push(nodes[offset] as Uint8Array)
    segment.blocks.push(blocks)
    for (const block of blocks) (held.get(block) as Held).uses += 1 // none is missing
  }
  log.range = range
  log.info = Object.freeze({ ...log.info, head: headOf(range, hash), entries })
  const appended = Object.freeze({ from: actual.size, head: log.info.head })
  if (operation !== undefined) log.operations.set(operation, appended)
  return right(appended)
}

const isRepeated = (log: Log, { from, head }: Appended, rows: readonly CheckedRow[]): boolean =>
  rows.length === head.size - from &&
  rows.every(({ kind, body }, offset) => {
    const stored = rowAt(log.segment, from + offset)
    return stored.kind === kind && stored.body === body
  })

const conflict = (log: Log, expected: Head, hash: Hash): StoreFault => {
  const { id, head: actual } = log.info
  const grown = Number.isInteger(expected.size) && expected.size >= 0 && expected.size < actual.size
  if (!grown || headOf(rangeAt(log.segment, expected.size), hash).root !== expected.root) return { _tag: 'Diverged', id, expected, actual }
  return { _tag: 'Conflict', id, expected, actual, missed: rowsOf(log, { from: expected.size, to: expected.size + maxMissed }) }
}

/** Make sure that blocks are held, and give them. */
const hold = (blocks: readonly Block[], held: Map<BlockId, Held>): readonly Held[] =>
  blocks.map(({ id, bytes }) => {
    const known = held.get(id)
    if (known !== undefined) return known
    const fresh: Held = { bytes, uses: 0, kept: false }
    held.set(id, fresh)
    return fresh
  })

/** Drop the rows of an orphan that no fork shares, with their blocks, and what is left of it if nothing does. */
const release = (segment: Segment, held: Map<BlockId, Held>): void => {
  if (!segment.orphan) return
  let shared = segment.base
  for (const fork of segment.forks) shared = Math.max(shared, fork.base)
  for (const block of segment.blocks.splice(shared - segment.base).flat()) {
    const used = held.get(block) as Held
    used.uses -= 1
    if (used.uses === 0 && !used.kept) held.delete(block)
  }
  segment.rows.length = segment.nodes.length = shared - segment.base
  if (segment.forks.size > 0 || segment.parent === undefined) return
  segment.parent.forks.delete(segment)
  release(segment.parent, held)
}
