/** A store in memory: for tests, for browsers, and as a reference implementation. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, type JsonObject, left, optionsOf, ownField, right } from '../../json/index.ts'
import { bytesToHex } from '@noble/hashes/utils.js'
import {
  portableSha256,
  emptyRange,
  peakEnds,
  type Hash,
  type BlockId,
  type CompactRange,
} from '../../proof/internal.ts'
import { countWhile } from '../../sequence/index.ts'
import { momentOf } from '../port/clock.ts'
import type {
  Answer,
  Block,
  CheckedAppend,
  CheckedErasure,
  CheckedUpdate,
  CheckedQuery,
  Cursor,
  StoreDriver,
} from '../port/driver.ts'
import { compareIds } from '../port/id.ts'
import type { EraseResult, RowPlace, Sharing, TextPlaces } from '../port/erasing.ts'
import { byteFinderInSlices, finderInSlices } from '../port/find-texts.ts'
import { cursorText } from '../rules/check-query.ts'
import { storeOf } from '../rules/handle.ts'
import type { StoreFault } from '../fault.ts'
import { claimFault, changeLease, type LeaseAnswer, type LeaseChange, type LeaseRow } from '../port/lease.ts'
import { matches, positionsOf } from '../rules/lookup.ts'
import {
  changedFault,
  forkFault,
  conflict,
  divergedFault,
  entriesBefore,
  growLog,
  hasKey,
  logInfo,
  referencedBlocks,
  staleHeadFault,
  repeatedAppend,
  sameHead,
  sharedRows,
  storedRow,
} from '../rules/rules.ts'
import type { AppendedRows, LogInfo, LogPage, RowRange, Store } from '../port/store.ts'
import type { Head, StoredRow } from '../port/row.ts'
import { atOnce, inSlices, Slices } from '../port/slices.ts'
import { headOf } from '../port/tree.ts'

/** The options of a memory store. */
interface MemoryOptions {
  /** The scope of the handle. Default: `default`. */
  readonly scope?: string
  /** The hash function: SHA-256. Default: Node's, or one in JavaScript outside Node. */
  readonly hash?: Hash
  /**
   * The clock of the store. Default: `Date.now`.
   *
   * @returns milliseconds since 1970
   */
  readonly now?: () => number
}

/**
 * A store in memory. Its content is lost when the program ends.
 *
 * @param options scope, hash function and clock
 * @throws TypeError if `scope` is invalid
 * @example
 * const session = await createSession(memoryStore(), { id: 'test' })
 */
export const memoryStore = (options: MemoryOptions = {}): Store => {
  const { scope, hash = portableSha256, now = Date.now } = optionsOf('memoryStore', options, knownOptions)
  const store = storeOf(memoryDriver({ hash, now }), scope)
  if (isLeft(store)) throw new TypeError(`${JSON.stringify(scope)} can't be a scope`)
  return store.right
}

/** The rows that one log appended. Rows that a fork shares belong to the log it was forked from. */
interface Segment {
  readonly parent: Segment | undefined
  /** The position of its first row; earlier rows are the parent's. */
  readonly base: number
  readonly rows: StoredRow[]
  readonly nodes: Uint8Array[]
  /** The blocks that each row references. */
  readonly blocks: (readonly BlockId[])[]
  readonly forks: Set<Segment>
  /** True if its log was removed; then only its forks need it. */
  orphan: boolean
}

interface Log {
  readonly order: number
  readonly segment: Segment
  readonly operations: Map<string, AppendedRows>
  info: LogInfo
  range: CompactRange
  lease: LeaseRow | undefined
}

interface HeldBlock {
  readonly bytes: Uint8Array
  /** The number of rows that reference it. */
  uses: number
  kept: boolean
}

interface Scope {
  readonly memory: Memory
  readonly logs: Map<string, Log>
  /** The logs in each order in which they were listed since the last change. */
  readonly sorted: Map<Order, readonly Log[]>
  readonly blocks: Map<BlockId, HeldBlock>
}

/** The state of a driver. */
interface Memory {
  readonly hash: Hash
  readonly now: () => number
  /** The largest number of a lease. */
  latestLease: number
  readonly scopes: Map<string, Scope>
  /** The number of logs ever created. */
  created: number
}

/**
 * The driver of `memoryStore`: to wrap in another driver, and as an example.
 *
 * @param options hash function and clock
 */
export const memoryDriver = (options: Omit<MemoryOptions, 'scope'> = {}): StoreDriver => {
  const { hash = portableSha256, now = Date.now } = optionsOf('memoryDriver', options, driverOptions)
  const memory: Memory = { hash, now, scopes: new Map(), created: 0, latestLease: 0 }
  const scopeNamed = (scope: string): Scope => scopeOf(memory, scope)
  /** Runs synchronously, so no other writer can come in between. */
  const onLog = async <T>(
    name: string,
    id: string,
    work: (log: Log, scope: Scope) => Either<StoreFault, T>,
  ): Answer<T> => {
    const scope = scopeNamed(name)
    const log = scope.logs.get(id)
    return log === undefined ? left({ _tag: 'NoSuchLog', id }) : work(log, scope)
  }
  return {
    hash,
    now,
    create: async (scope, id, meta, first) => create(scopeNamed(scope), id, meta, first),
    info: (scope, id) => onLog(scope, id, (log) => right(log.info)),
    list: async (scope, query) => right(page(scopeNamed(scope), query)),
    update: (scope, id, change) => onLog(scope, id, (log) => update(log, change, now)),
    append: (scope, id, append) => onLog(scope, id, (log, own) => appendTo(log, append, own)),
    read: async (scope, id, range) => {
      const log = scopeNamed(scope).logs.get(id)
      const rows = log && (await inSlices(rowsIn(log, range)))
      return rows === undefined ? left({ _tag: 'NoSuchLog', id }) : right(rows)
    },
    nodes: (scope, id, positions) =>
      onLog(scope, id, ({ segment }) =>
        right(Object.freeze(positions.map((position) => nodeAt(segment, position).slice()))),
      ),
    fork: (scope, id, to, at, meta) => onLog(scope, id, (log, own) => fork(own, log, to, at, meta)),
    remove: async (scope, id, unchanged) => {
      const removed = await onLog(scope, id, (log, own) => {
        const problem = unchanged && changedFault(unchanged, own.logs.get(unchanged.id)?.info.head, hash)
        return problem === undefined ? right(remove(log, own)) : left(problem)
      })
      return isLeft(removed) ? removed : right(await inSlices(removed.right))
    },
    lease: (scope, id, change) => onLog(scope, id, (log) => lease(memory, log, change)),
    scopes: async () => right([...memory.scopes].flatMap(([name, { logs }]) => (logs.size > 0 ? [name] : []))),
    putBlocks: async (scope, blocks) => {
      for (const held of holdBlocks(blocks, scopeNamed(scope).blocks)) held.kept = true
      return right(undefined)
    },
    getBlocks: async (scope, ids) => right(copyBlocks(ids, scopeNamed(scope).blocks)),
    hasBlocks: async (scope, ids) => right(new Set(ids.filter((id) => scopeNamed(scope).blocks.has(id)))),
    erasing: {
      erase: async (scope, erasure) =>
        erasure === undefined ? right({ head: undefined, blocks: [], residue: [] }) : erase(scopeNamed(scope), erasure),
      sharing: (scope, id) => onLog(scope, id, (log, own) => right(logsSharingRows(own, log))),
      containing: async (scope, texts) => right(await placesWithTexts(scopeNamed(scope), texts)),
      erased: async (scope) => right(await placesOf(scopeNamed(scope), ({ erased }) => erased !== undefined)),
    },
    close: async () => memory.scopes.clear(),
  }
}

const scopeOf = (memory: Memory, name: string): Scope => {
  const found = memory.scopes.get(name)
  if (found !== undefined) return found
  const fresh: Scope = { memory, logs: new Map(), sorted: new Map(), blocks: new Map() }
  memory.scopes.set(name, fresh)
  return fresh
}

const start = (
  scope: Scope,
  id: string,
  range: CompactRange,
  entries: number,
  meta: JsonObject,
  segment: Segment,
  appended = Infinity,
): Log => {
  const { memory, logs, sorted } = scope
  const [head, created] = [headOf(range, memory.hash), Math.min(momentOf(memory.now), appended)]
  const info = logInfo({ id, head, entries, tokens: 0, created, appended: undefined, meta, version: 1 })
  const order = ++memory.created
  const log: Log = { order, segment, operations: new Map(), info, range, lease: undefined }
  logs.set(id, log)
  sorted.clear()
  return log
}

const create = (scope: Scope, id: string, meta: JsonObject, first: CheckedAppend): Either<StoreFault, LogInfo> => {
  if (scope.logs.has(id)) return left({ _tag: 'LogExists', id })
  const missing = missingBlocksOf(first, scope.blocks)
  if (missing !== undefined) return left(missing)
  const log = start(scope, id, emptyRange, 0, meta, segmentOn(undefined, 0), first.rows.at(-1)?.at)
  if (first.rows.length > 0) appendRows(log, first, scope)
  return right(log.info)
}

const fork = (scope: Scope, log: Log, to: string, at: number, meta: JsonObject): Either<StoreFault, LogInfo> => {
  const { segment, info } = log
  const problem = forkFault(info.id, at, info.head.size)
  if (problem !== undefined) return left(problem)
  if (scope.logs.has(to)) return left({ _tag: 'LogExists', id: to })
  const entries = entriesBefore(at, at === 0 ? undefined : rowAt(segment, at - 1))
  return right(start(scope, to, rangeAt(segment, at), entries, meta, segmentOn(segment, at)).info)
}

const update = (log: Log, change: CheckedUpdate, now: () => number): Either<StoreFault, LogInfo> => {
  const { expected, meta, ownKey } = change
  const { id, version } = log.info
  if (!hasKey(log.info.meta, ownKey)) return left({ _tag: 'NoSuchLog', id })
  const unleased = claimFault(id, log.lease, change, now())
  if (unleased !== undefined) return left(unleased)
  if (version !== expected) return left({ _tag: 'MetaConflict', id, expected, actual: version, meta: log.info.meta })
  log.info = Object.freeze({ ...log.info, meta, version: version + 1 })
  return right(log.info)
}

/** Removes a log. Returns the work that drops its rows. */
const remove = ({ info, segment }: Log, scope: Scope): Generator<number, void> => {
  scope.logs.delete(info.id)
  scope.sorted.clear()
  segment.orphan = true
  return release(segment, scope.blocks)
}

const lease = (memory: Memory, log: Log, change: LeaseChange): Either<StoreFault, LeaseAnswer> => {
  const outcome = changeLease(log.info.id, log.lease, change, momentOf(memory.now), memory.latestLease)
  if (isLeft(outcome)) return outcome
  log.lease = outcome.right.row ?? log.lease
  memory.latestLease = Math.max(memory.latestLease, log.lease?.number ?? 0)
  return right({ lease: outcome.right.lease, head: log.info.head })
}

/** Copies of those blocks that exist. */
const copyBlocks = (
  ids: readonly BlockId[],
  blocks: ReadonlyMap<BlockId, HeldBlock>,
): ReadonlyMap<BlockId, Uint8Array> =>
  new Map(
    ids.flatMap((id) => {
      const held = blocks.get(id)
      return held === undefined ? [] : [[id, held.bytes.slice()]]
    }),
  )

const segmentOn = (parent: Segment | undefined, base: number): Segment => {
  let owner = parent
  while (owner !== undefined && base <= owner.base) owner = owner.parent // the parent shares no rows of its own
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

const rangeAt = (segment: Segment, size: number): CompactRange => ({
  size,
  peaks: peakEnds(size).map((end) => nodeAt(segment, end - 1)),
})

const rowsOf = (log: Log, range: RowRange): readonly StoredRow[] => atOnce(rowsIn(log, range)) as readonly StoredRow[] // in one turn, no other call removes the log

/** Reads rows in slices; undefined if the log was removed meanwhile. */
function* rowsIn(log: Log, range: RowRange): Generator<number, readonly StoredRow[] | undefined> {
  const only = ownField(range, 'only')
  const { start, end } = positionsOf(log.info, range, (position) => rowAt(log.segment, position))
  const rows: StoredRow[] = []
  for (let position = start; position < end; position++) {
    const row = rowAt(log.segment, position)
    if (only === undefined || row.kind === only) rows.push(row)
    if (position + 1 < end) yield row.body.length
    if (log.segment.orphan) return undefined
  }
  return Object.freeze(rows)
}

/** Cost: O(page), and that of sorting the logs for the first page after a change. */
const page = (scope: Scope, { limit, after, where, by }: CheckedQuery): LogPage => {
  const logs = scope.sorted.get(by) ?? [...scope.logs.values()].sort(compare[by])
  scope.sorted.set(by, logs)
  const infos: LogInfo[] = []
  let last: Log | undefined
  for (let index = after === undefined ? 0 : countThrough(logs, by, after); index < logs.length; index++) {
    const log = logs[index] as Log
    if (!matches(log.info.meta, where)) continue
    if (last !== undefined && infos.length === limit)
      return Object.freeze({ logs: Object.freeze(infos), next: cursorText(cursorOf(last, by), by) })
    infos.push(log.info)
    last = log
  }
  return Object.freeze({ logs: Object.freeze(infos) })
}

type Order = CheckedQuery['by']
type Compare = (a: Pick<Log, 'order' | 'info'>, b: Pick<Log, 'order' | 'info'>) => number

const compare: Readonly<Record<Order, Compare>> = {
  created: (a, b) => b.order - a.order,
  appended: (a, b) => b.info.appended - a.info.appended || b.order - a.order,
  entries: (a, b) => b.info.entries - a.info.entries || b.order - a.order,
  tokens: (a, b) => b.info.tokens - a.info.tokens || b.order - a.order,
  id: (a, b) => compareIds(a.info.id, b.info.id),
}

const cursorOf = ({ order, info }: Log, by: Order): Cursor =>
  by === 'id' ? { value: info.id, key: 0 } : { value: by === 'created' ? undefined : info[by], key: order }

/** The number of logs up to a cursor. */
const countThrough = (logs: readonly Log[], by: Order, { value, key }: Cursor): number => {
  const cursor = { order: key, info: { [by]: value } as unknown as LogInfo } // only the fields that `compare` reads
  return countWhile(logs.length, (index) => compare[by](logs[index] as Log, cursor) <= 0)
}

const appendTo = (log: Log, append: CheckedAppend, scope: Scope): Either<StoreFault, AppendedRows> => {
  const { hash, now } = scope.memory
  const { expected, rows, operation } = append
  const { id, head: actual } = log.info
  if (!hasKey(log.info.meta, append.ownKey)) return left(divergedFault(id, expected, actual))
  const before = operation === undefined ? undefined : log.operations.get(operation)
  if (operation !== undefined && before !== undefined) {
    const { from, head } = before
    return repeatedAppend(id, { operation, from, head }, rows, rowsOf(log, { from, to: head.size }))
  }
  const unleased = claimFault(id, log.lease, append, now())
  if (unleased !== undefined) return left(unleased)
  if (!sameHead(expected, actual)) return left(appendConflict(log, expected, hash))
  const missing = missingBlocksOf(append, scope.blocks)
  if (missing !== undefined) return left(missing)
  const appended = appendRows(log, append, scope)
  if (operation !== undefined) log.operations.set(operation, appended)
  return right(appended)
}

const missingBlocksOf = (append: CheckedAppend, held: ReadonlyMap<BlockId, HeldBlock>): StoreFault | undefined => {
  const missing = referencedBlocks(append).filter((block) => !held.has(block))
  return missing.length > 0 ? { _tag: 'MissingBlock', ids: missing } : undefined
}

const appendRows = (log: Log, append: CheckedAppend, scope: Scope): AppendedRows => {
  const { blocks: held, memory } = scope
  const { head, entries, tokens } = log.info
  holdBlocks(append.blocks, held)
  const grown = growLog({ head, entries, tokens, peaks: log.range.peaks }, append, memory.hash)
  for (const { row, position, kind, index, node } of grown.rows) {
    log.segment.rows.push(storedRow(position, { kind, index }, row.body, row.at, row.salt, row.erased))
    log.segment.nodes.push(node)
    log.segment.blocks.push(row.blocks)
    for (const block of row.blocks) (held.get(block) as HeldBlock).uses += 1 // missing blocks were refused before
  }
  log.range = grown.range
  const { created } = log.info
  const appended = grown.rows.length === 0 ? log.info.appended : grown.appended
  log.info = logInfo({
    ...log.info,
    head: grown.head,
    entries: grown.entries,
    tokens: grown.tokens,
    appended: appended ?? created,
  })
  scope.sorted.clear()
  return grown.answer
}

const appendConflict = (log: Log, expected: Head, hash: Hash): StoreFault => {
  const { id, head } = log.info
  return staleHeadFault(
    id,
    expected,
    head,
    hash,
    (size) => rangeAt(log.segment, size),
    (range) => rowsOf(log, range),
  )
}

/** Erases all rows or none: everything that can fail is checked first. */
const erase = (
  scope: Scope,
  { logs: input, ledger }: CheckedErasure,
): Either<StoreFault, Omit<EraseResult, 'rows'>> => {
  const { logs, blocks: held, memory } = scope
  const { hash } = memory
  for (const { id, expected, rows: _rows, ...claim } of input) {
    const log = logs.get(id)
    if (log === undefined) return left({ _tag: 'NoSuchLog', id })
    const unleased = claimFault(id, log.lease, claim, memory.now())
    if (unleased !== undefined) return left(unleased)
    if (!sameHead(expected, log.info.head)) return left(appendConflict(log, expected, hash))
  }
  const book = logs.get(ledger.id)
  const { append } = ledger
  if (book === undefined ? append.expected.size > 0 : !sameHead(append.expected, book.info.head))
    return left(
      book === undefined
        ? { _tag: 'NoSuchLog', id: ledger.id }
        : conflict(ledger.id, append.expected, book.info.head, []),
    )
  const dropped = new Set<BlockId>()
  for (const { id, rows } of input)
    for (const { position, leaf, stub, tokens } of rows) {
      const { segment } = logs.get(id) as Log // checked above
      const owner = ownerOf(segment, position)
      const { kind, index, at, erased } = rowAt(segment, position)
      if (erased !== undefined) continue // through a fork, too
      for (const log of logs.values())
        if (tokens > 0 && log.segment === owner)
          log.info = Object.freeze({ ...log.info, tokens: log.info.tokens - tokens })
      owner.rows[position - owner.base] = storedRow(position, { kind, index }, stub, at, undefined, bytesToHex(leaf))
      for (const block of owner.blocks[position - owner.base] ?? []) {
        dropped.add(block)
        unuse(block, held)
      }
      owner.blocks[position - owner.base] = []
    }
  if (book === undefined) create(scope, ledger.id, ledger.meta, append)
  else appendRows(book, append, scope)
  const blocks = [...dropped].flatMap((block) => {
    const left = held.get(block)
    return left === undefined ? [] : [{ block, rows: left.uses, kept: left.kept }]
  })
  return right({ head: logs.get(ledger.id)?.info.head, blocks, residue: [] })
}

/** The segments with the rows of a log, in order, each with the position after its last row. */
const stretches = (log: Log): readonly { readonly segment: Segment; readonly to: number }[] => {
  const found: { readonly segment: Segment; readonly to: number }[] = []
  let to = log.info.head.size
  for (let segment: Segment | undefined = log.segment; segment !== undefined; segment = segment.parent) {
    found.unshift({ segment, to })
    to = segment.base
  }
  return found
}

const logsSharingRows = ({ logs }: Scope, log: Log): readonly Sharing[] => {
  const own = stretches(log)
  return [...logs.values()].flatMap((other) => {
    const rows = other === log ? 0 : sharedRows(own, stretches(other))
    return rows === 0 ? [] : [{ id: other.info.id, rows }]
  })
}

const placesWithTexts = async (scope: Scope, texts: readonly string[]): Promise<TextPlaces> => {
  const { blocks } = scope
  const [isIn, isInBytes] = [await finderInSlices(texts), await byteFinderInSlices(texts)]
  const hits = new Set<BlockId>()
  const slices = new Slices()
  for (const [id, { bytes }] of [...blocks]) {
    if (isInBytes(bytes)) hits.add(id)
    await slices.next(bytes.length)
  }
  const rows = await placesOf(scope, ({ body }, named) => isIn(body) || named.some((block) => hits.has(block)))
  const operations: string[] = []
  for (const { info, operations: done } of [...scope.logs.values()]) {
    if ([...done.keys()].some(isIn)) operations.push(info.id)
    await slices.next(done.size)
  }
  return {
    rows,
    blocks: [...hits].filter((id) => blocks.get(id)?.kept === true),
    ...(operations.length > 0 && { operations }),
  }
}

/** The rows of a scope that match a condition on the row and the blocks that it references. */
const placesOf = async (
  { logs }: Scope,
  isWanted: (row: StoredRow, named: readonly BlockId[]) => boolean,
): Promise<readonly RowPlace[]> => {
  const slices = new Slices()
  const seen = new Set<StoredRow>() // a row shared by several logs is listed once
  const rows: RowPlace[] = []
  for (const log of [...logs.values()])
    for (let position = 0; position < log.info.head.size; position++) {
      const { info, segment } = log
      const row = rowAt(segment, position)
      await slices.next(row.body.length)
      if (logs.get(info.id) !== log) break // removed meanwhile
      const owner = ownerOf(segment, position)
      if (seen.has(row) || !isWanted(row, owner.blocks[position - owner.base] ?? [])) continue
      seen.add(row)
      rows.push({ id: info.id, position })
    }
  return rows
}

/** Add missing blocks, and return all of them. */
const holdBlocks = (blocks: readonly Block[], held: Map<BlockId, HeldBlock>): readonly HeldBlock[] =>
  blocks.map(({ id, bytes }) => {
    const known = held.get(id)
    if (known !== undefined) return known
    const fresh: HeldBlock = { bytes, uses: 0, kept: false }
    held.set(id, fresh)
    return fresh
  })

/** Removes a row's reference to a block. */
const unuse = (block: BlockId, held: Map<BlockId, HeldBlock>): void => {
  const used = held.get(block) as HeldBlock
  used.uses -= 1
  if (used.uses === 0 && !used.kept) held.delete(block)
}

/** Drop the rows of an orphan that no fork shares, with their blocks, and the orphan itself if it has no forks. */
function* release(segment: Segment, held: Map<BlockId, HeldBlock>): Generator<number, void> {
  if (!segment.orphan) return
  const { base, parent, rows, nodes, blocks, forks } = segment
  let shared = base
  for (const fork of forks) shared = Math.max(shared, fork.base)
  while (base + rows.length > shared) {
    for (const block of blocks.pop() ?? []) unuse(block, held)
    nodes.pop()
    yield rows.pop()?.body.length ?? 0
  }
  if (forks.size > 0 || parent === undefined) return
  parent.forks.delete(segment)
  yield* release(parent, held)
}

const driverOptions = { hash: true, now: true } as const
const knownOptions = { scope: true, ...driverOptions } as const
