/**
 * The adapter's side of the port. A driver keeps rows and blocks for all scopes; it is handed only what was checked,
 * and `storeOf` makes a store of it: ids, rows, metadata and blocks are checked and hashed in one place.
 */
import { isLeft, left, right, type Either } from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { Hash } from '../digest/index.ts'
import { NotJson, snapshot, type JsonObject } from '../json/index.ts'
import type { BlockId } from '../message/index.ts'
import type { StoreFault } from './fault.ts'
import { blockIdOf, invalidBlockId, invalidId } from './id.ts'
import type { Append, Appended, BlockStore, Head, ListQuery, LogInfo, LogPage, Row, RowRange, Store, StoredRow } from './store.ts'
import { rowLeaf } from './tree.ts'

export type Answer<T> = Promise<Either<StoreFault, T>>

/** A row as it is to be stored. */
export interface CheckedRow extends Required<Row> {
  readonly leaf: Uint8Array
}

export interface CheckedAppend {
  readonly expected: Head
  readonly rows: readonly CheckedRow[]
  readonly blocks: readonly Block[]
  readonly operation: string | undefined
}

export interface Block {
  readonly id: BlockId
  /** The driver's own copy. */
  readonly bytes: Uint8Array
}

export interface CheckedQuery extends Required<Pick<ListQuery, 'limit' | 'where'>> {
  /** The cursor that a driver gave as `next`: a whole number, in digits. */
  readonly after: number | undefined
}

/**
 * What an adapter implements. Each method is called when its task is run, with a valid scope and valid ids; what it
 * throws becomes an `Io` fault. After `close` none is called.
 *
 * Missing here and done by `storeOf`: checking and copying what comes in, block digests of what goes out, `Closed`.
 */
export interface StoreDriver {
  readonly hash: Hash
  readonly create: (scope: string, id: string, meta: JsonObject) => Answer<LogInfo>
  readonly info: (scope: string, id: string) => Answer<LogInfo>
  readonly list: (scope: string, query: CheckedQuery) => Answer<LogPage>
  readonly update: (scope: string, id: string, expected: number, meta: JsonObject) => Answer<LogInfo>
  readonly append: (scope: string, id: string, append: CheckedAppend) => Answer<Appended>
  readonly read: (scope: string, id: string, range: RowRange) => Answer<readonly StoredRow[]>
  readonly nodes: (scope: string, id: string, positions: readonly number[]) => Answer<readonly Uint8Array[]>
  readonly fork: (scope: string, id: string, to: string, at: number, meta: JsonObject) => Answer<LogInfo>
  readonly remove: (scope: string, id: string) => Answer<void>
  readonly putBlocks: (scope: string, blocks: readonly Block[]) => Answer<void>
  /** Bytes of a block that nobody else will change. Ids come once each. */
  readonly getBlocks: (scope: string, ids: readonly BlockId[]) => Answer<ReadonlyMap<BlockId, Uint8Array>>
  readonly hasBlocks: (scope: string, ids: readonly BlockId[]) => Answer<ReadonlySet<BlockId>>
  readonly close: () => Promise<void>
}

/** What an adapter implements that keeps blocks and no logs. */
export type BlockDriver = Pick<StoreDriver, 'hash' | 'putBlocks' | 'getBlocks' | 'hasBlocks'>

/** The scope of a handle that was opened without one. */
export const defaultScope = 'default'

/** The store that a driver keeps, for one scope. */
export const storeOf = (driver: StoreDriver, scope: string = defaultScope): Either<StoreFault, Store> => {
  const problem = invalidId('scope', scope)
  return problem === undefined ? right(handle(driver, scope, { closed: undefined }, undefined)) : left(problem)
}

/** The blocks that a driver keeps, for one scope. */
export const blockStoreOf = (driver: BlockDriver, scope: string = defaultScope): Either<StoreFault, BlockStore> => {
  const problem = invalidId('scope', scope)
  if (problem !== undefined) return left(problem)
  const store = Object.freeze(blockHandle(driver, scope, guarded))
  behind.set(store, driver)
  return right(store)
}

/** What keeps the blocks of a handle. */
const behind = new WeakMap<BlockStore, object>()

/** Note that a handle gives the blocks of another one. */
export const standsFor = (store: BlockStore, other: BlockStore): void => void behind.set(store, behind.get(other) ?? other)

/** Whether two handles are of the same blocks: one scope of one opened store, with a cache before it or not. */
export const sameBlocks = (one: BlockStore, other: BlockStore): boolean =>
  one.scope === other.scope && (behind.get(one) ?? one) === (behind.get(other) ?? other)

/** Closed handles answer nothing but `Closed`. */
interface Life {
  closed: Promise<void> | undefined
}

const handle = (driver: StoreDriver, scope: string, whole: Life, own: Life | undefined): Store => {
  const life = own ?? whole
  const run: Run = (operation, work) => guarded(operation, async () => (whole.closed !== undefined || life.closed !== undefined ? left({ _tag: 'Closed' }) : work()))
  /** The same for what concerns a log. */
  const onLog = <T>(operation: string, id: string, work: () => Answer<T>): TaskEither<StoreFault, T> =>
    run(operation, async () => {
      const problem = invalidId('log', id)
      return problem === undefined ? work() : left(problem)
    })
  const { hash } = driver

  const store = Object.freeze<Store>({
    ...blockHandle(driver, scope, run),
    create: ({ id, meta = {} }) =>
      onLog('create a log', id, async () => {
        const checked = checkMeta(meta)
        return isLeft(checked) ? checked : driver.create(scope, id, checked.right)
      }),
    info: (id) => onLog('read a log', id, () => driver.info(scope, id)),
    list: ({ limit = 100, after, where = {} } = {}) =>
      run('list logs', async () => {
        if (after !== undefined && !/^\d{1,15}$/.test(after)) return left({ _tag: 'InvalidId', what: 'cursor', reason: 'it is not the `next` of a page' })
        const checked = { limit: Math.max(1, Math.min(1000, Math.floor(limit) || 1)), after: after === undefined ? undefined : Number(after), where: { ...where } }
        return driver.list(scope, checked)
      }),
    update: (id, { expected, meta }) =>
      onLog('update metadata', id, async () => {
        const checked = checkMeta(meta)
        return isLeft(checked) ? checked : driver.update(scope, id, expected, checked.right)
      }),
    append: (id, append) =>
      onLog('append', id, async () => {
        const checked = checkAppend(append, hash)
        return isLeft(checked) ? checked : driver.append(scope, id, checked.right)
      }),
    read: (id, range = {}) => onLog('read rows', id, () => driver.read(scope, id, range)),
    nodes: (id, positions) => onLog('read nodes', id, () => driver.nodes(scope, id, [...positions])),
    fork: (id, { id: to, at, meta = {} }) =>
      onLog('fork', id, async () => {
        const problem = invalidId('log', to)
        if (problem !== undefined) return left(problem)
        const checked = checkMeta(meta)
        return isLeft(checked) ? checked : driver.fork(scope, id, to, at, checked.right)
      }),
    remove: (id) => onLog('remove a log', id, () => driver.remove(scope, id)),
    scoped: (name) => {
      const problem = invalidId('scope', name)
      return problem === undefined ? right(handle(driver, name, whole, { closed: undefined })) : left(problem)
    },
    close: () => async () => {
      try {
        await (life.closed ??= own === undefined ? driver.close() : Promise.resolve())
        return right(undefined)
      } catch (cause) {
        return left({ _tag: 'Io', operation: 'close', cause })
      }
    },
  })
  behind.set(store, driver)
  return store
}

/** Makes a task of what a driver does. */
type Run = <T>(operation: string, work: () => Answer<T>) => TaskEither<StoreFault, T>

const guarded: Run = (operation, work) => async () => {
  try {
    return await work()
  } catch (cause) {
    return left({ _tag: 'Io', operation, cause })
  }
}

const blockHandle = (driver: BlockDriver, scope: string, run: Run): BlockStore => {
  const { hash } = driver
  /** The driver gets each id once. */
  const onBlocks = <T>(operation: string, given: readonly BlockId[], work: (ids: readonly BlockId[]) => Answer<T>): TaskEither<StoreFault, T> =>
    run(operation, async () => {
      const problem = invalidBlockId(given)
      return problem === undefined ? work([...new Set(given)]) : left(problem)
    })
  return {
    hash,
    scope,
    putBlocks: (given) =>
      run('put blocks', async () => {
        const blocks = ownBlocks(given, hash)
        const done = await driver.putBlocks(scope, once(blocks))
        return isLeft(done) ? done : right(Object.freeze(blocks.map((block) => block.id)))
      }),
    getBlocks: (given) =>
      onBlocks('get blocks', given, async (ids) => {
        const found = await driver.getBlocks(scope, ids)
        if (isLeft(found)) return found
        const damaged = [...found.right].filter(([id, bytes]) => blockIdOf(bytes, hash) !== id).map(([id]) => id)
        return damaged.length > 0 ? left({ _tag: 'DamagedBlock', ids: damaged }) : right(Object.freeze(given.map((id) => found.right.get(id))))
      }),
    hasBlocks: (given) =>
      onBlocks('look for blocks', given, async (ids) => {
        const found = await driver.hasBlocks(scope, ids)
        return isLeft(found) ? found : right(Object.freeze(given.map((id) => found.right.has(id))))
      }),
  }
}

const checkMeta = (meta: unknown): Either<StoreFault, JsonObject> => {
  try {
    const copy = snapshot(meta)
    if (typeof copy !== 'object' || copy === null || Array.isArray(copy))
      return left({ _tag: 'InvalidMeta', path: [], reason: 'is not an object' })
    return right(copy as JsonObject) // a snapshot holds nothing but JSON
  } catch (error) {
    if (!(error instanceof NotJson)) throw error
    return left({ _tag: 'InvalidMeta', path: error.path, reason: error.reason })
  }
}

const checkAppend = (append: Append, hash: Hash): Either<StoreFault, CheckedAppend> => {
  const { expected, operation } = append
  const problem = operation === undefined ? undefined : invalidId('operation', operation)
  if (problem !== undefined) return left(problem)
  const rows: CheckedRow[] = []
  for (const { kind, body, blocks = [] } of append.rows) {
    const ids = [...blocks]
    const reason = againstRow(kind, body)
    if (reason !== undefined) return left({ _tag: 'InvalidRow', index: rows.length, reason })
    const badBlock = invalidBlockId(ids)
    if (badBlock !== undefined) return left(badBlock)
    rows.push({ kind, body, blocks: ids, leaf: rowLeaf({ kind, body }, hash) })
  }
  const blocks = once(ownBlocks(append.blocks ?? [], hash))
  const named = new Set(rows.flatMap((row) => row.blocks))
  const unused = blocks.filter((block) => !named.has(block.id)).map((block) => block.id)
  if (unused.length > 0) return left({ _tag: 'UnusedBlock', ids: unused })
  return right({ expected: { size: expected.size, root: expected.root }, rows, blocks, operation })
}

const againstRow = (kind: unknown, body: unknown): string | undefined => {
  if (kind !== 'entry' && kind !== 'note') return 'is neither an entry nor a note'
  if (typeof body !== 'string') return 'has a body that is not a string'
  return body.isWellFormed() ? undefined : 'has a lone surrogate'
}

const ownBlocks = (blocks: readonly Uint8Array[], hash: Hash): Block[] =>
  Array.from(blocks, (given) => {
    const bytes = new Uint8Array(given) // a copy: theirs may change before it is stored
    return { id: blockIdOf(bytes, hash), bytes }
  })

const once = (blocks: readonly Block[]): Block[] => [...new Map(blocks.map((block) => [block.id, block])).values()]
