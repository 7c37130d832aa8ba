/**
 * The adapter's side of the port. A driver keeps rows and blocks for all scopes; it is handed only what was checked,
 * and `storeOf` makes a store of it: ids, rows, metadata and blocks are checked and hashed in one place.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import type { Task } from '../task/index.ts'
import { blockIdOf, emptyRange, type Hash, type BlockId } from '../proof/index.ts'
import { isLeft, isObject, type JsonObject, left, type Path, right } from '../json/index.ts'
import type { StoreFinding, StoreRepair } from './check.ts'
import { storeTask, type BlockFault, type StoreFault, type StoreFaultOf } from './fault.ts'
import { checkRows, type CheckedRow } from './checked-row.ts'
import { invalidBlockId, invalidId } from './id.ts'
import { checkMeta } from './meta.ts'
import { invalidLease, invalidTtl, type AppendClaim, type Lease, type LeaseChange } from './lease.ts'
import { quietly, type OnNotice } from './notice.ts'
import { signalKey, Signals, type Wake } from './signals.ts'
import type {
  Append,
  Appended,
  BlockStore,
  ListQuery,
  LogInfo,
  LogPage,
  OnceStore,
  RowRange,
  Store,
  Where,
} from './store.ts'
import type { Head, StoredRow } from './row.ts'
import { planOf, type Plan } from './plan.ts'
import { headOf } from './tree.ts'

/** The result of a driver's method: a value or a fault. */
export type Answer<T> = Promise<Either<StoreFault, T>>

/** An append as a driver receives it. */
export interface CheckedAppend extends AppendClaim {
  /** The head that the rows continue. */
  readonly expected: Head
  /** The rows, with their leaf hashes. At least one. */
  readonly rows: readonly CheckedRow[]
  /** The blocks of the rows that came with the append. */
  readonly blocks: readonly Block[]
  /** The operation id of the append, if it has one. */
  readonly operation: string | undefined
  /** The plan of the rows, if it was computed already. Give it to `growth` of the rules. */
  readonly plan: Plan | undefined
}

/** A block with its id. */
export interface Block {
  /** The SHA-256 of its bytes, as hexadecimal digits. */
  readonly id: BlockId
  /** The driver's own copy. */
  readonly bytes: Uint8Array
}

/** The log after which a page of a list starts. Drivers return it as `next`, by `cursorText`. */
export interface Cursor {
  /** The time of its last append; only if that is the order. */
  readonly appended: number | undefined
  /** Its number in the order of creation. */
  readonly key: number
}

/** A query as a driver receives it. */
export interface CheckedQuery extends Required<Pick<ListQuery, 'limit' | 'where' | 'by'>> {
  /** The log after which the page starts; undefined for the first page. */
  readonly after: Cursor | undefined
}

/**
 * A cursor as the `next` of a page.
 *
 * @param cursor the cursor
 * @returns the text
 */
export const cursorText = ({ appended, key }: Cursor): string =>
  appended === undefined ? `${key}` : `${appended}.${key}`

const cursorIn = (text: string, by: CheckedQuery['by']): Cursor | undefined => {
  const [, appended, key] = /^(?:(-?\d{1,16})\.)?(\d{1,15})$/.exec(text) ?? []
  return key === undefined || (appended === undefined) !== (by === 'created')
    ? undefined
    : { appended: appended === undefined ? undefined : Number(appended), key: Number(key) }
}

/**
 * The interface that an adapter implements. Each method is called with a valid scope and valid ids. An error that it
 * throws
 * becomes an `Io` fault; for a change, with `outcome: 'unknown'`. If the driver knows that nothing was changed, it
 * returns a
 * fault instead. After `close` no method is called.
 *
 * `storeOf` does the rest: it checks and copies the input, checks the digests of blocks that are read, and answers
 * `Closed` after a close.
 */
export interface StoreDriver {
  /** The SHA-256 that the driver uses. */
  readonly hash: Hash
  /**
   * The store's clock. Default: `Date.now`.
   *
   * @returns milliseconds since 1970
   */
  readonly now?: () => number
  /**
   * Create a log, together with its first rows, in one step.
   *
   * @param scope the scope
   * @param id the id of the log
   * @param meta its metadata
   * @param first an append to the empty log; mostly without rows
   * @returns the description of the log; or `LogExists`
   */
  readonly create: (scope: string, id: string, meta: JsonObject, first: CheckedAppend) => Answer<LogInfo>
  /**
   * Describe a log.
   *
   * @param scope the scope
   * @param id the id of the log
   * @returns head, metadata and counts; or `NoSuchLog`
   */
  readonly info: (scope: string, id: string) => Answer<LogInfo>
  /**
   * List the logs of a scope.
   *
   * @param scope the scope
   * @param query the filter, the order and the cursor
   * @returns one page
   */
  readonly list: (scope: string, query: CheckedQuery) => Answer<LogPage>
  /**
   * Replace the metadata, if its version is the expected one.
   *
   * @param scope the scope
   * @param id the id of the log
   * @param expected the version to replace
   * @param meta the new metadata
   * @returns the description of the log; or `MetaConflict`
   */
  readonly update: (scope: string, id: string, expected: number, meta: JsonObject) => Answer<LogInfo>
  /**
   * Store rows, blocks and the new head in one step, if the head is the expected one.
   *
   * @param scope the scope
   * @param id the id of the log
   * @param append the checked rows, and the head that they continue
   * @returns the position and the new head; or `Conflict`
   */
  readonly append: (scope: string, id: string, append: CheckedAppend) => Answer<Appended>
  /**
   * Read the rows of a range.
   *
   * @param scope the scope
   * @param id the id of the log
   * @param range the range
   * @returns the rows, in order
   */
  readonly read: (scope: string, id: string, range: RowRange) => Answer<readonly StoredRow[]>
  /**
   * Read the stored tree nodes of rows.
   *
   * @param scope the scope
   * @param id the id of the log
   * @param positions the positions of the rows
   * @returns the nodes, in the same order
   */
  readonly nodes: (scope: string, id: string, positions: readonly number[]) => Answer<readonly Uint8Array[]>
  /**
   * Create a log that shares the first `at` rows of another. The cost must not depend on `at`.
   *
   * @param scope the scope
   * @param id the log to fork
   * @param to the id of the new log
   * @param at the number of rows to share
   * @param meta the metadata of the new log
   * @returns the description of the new log
   */
  readonly fork: (scope: string, id: string, to: string, at: number, meta: JsonObject) => Answer<LogInfo>
  /**
   * Remove a log. Rows that forks share stay.
   *
   * @param scope the scope
   * @param id the id of the log
   * @returns nothing; or `NoSuchLog`
   */
  readonly remove: (scope: string, id: string) => Answer<void>
  /**
   * Change the lease of a log as `leaseChanged` computes it, in one transaction.
   *
   * @param scope the scope
   * @param id the id of the log
   * @param change the change
   * @returns the lease after the change; undefined if there is none
   */
  readonly lease: (scope: string, id: string, change: LeaseChange) => Answer<Lease | undefined>
  /**
   * Store blocks that stay without a row.
   *
   * @param scope the scope
   * @param blocks the blocks
   * @returns nothing
   */
  readonly putBlocks: (scope: string, blocks: readonly Block[]) => Answer<void>
  /**
   * Read blocks. Nobody else may change the returned bytes.
   *
   * @param scope the scope
   * @param ids their ids, each once
   * @returns the contents of the stored blocks, by id
   */
  readonly getBlocks: (scope: string, ids: readonly BlockId[]) => Answer<ReadonlyMap<BlockId, Uint8Array>>
  /**
   * Find which blocks are stored undamaged.
   *
   * @param scope the scope
   * @param ids their ids, each once
   * @returns the ids of these blocks
   */
  readonly hasBlocks: (scope: string, ids: readonly BlockId[]) => Answer<ReadonlySet<BlockId>>
  /** Finish pending calls and release the medium. */
  readonly close: () => Promise<void>
  /**
   * Check the whole store, in all scopes. Leave it out if the store has no bookkeeping that could be wrong.
   *
   * @returns the findings
   */
  readonly check?: () => Answer<readonly StoreFinding[]>
  /**
   * Rebuild the parts of the store, in all scopes, that follow from its rows and blocks. Never change recorded data.
   *
   * @returns the findings, and the action taken for each
   */
  readonly repair?: () => Answer<readonly StoreRepair[]>
  /**
   * Call `wake` after changes of a log by other processes. Leave it out if no other process can change the store.
   *
   * @param scope the scope
   * @param id the id of the log
   * @param wake called after changes
   * @returns a function that ends it
   */
  readonly watch?: (scope: string, id: string, wake: Wake) => Promise<() => void>
}

/** The interface of an adapter that keeps blocks and no logs. */
export type BlockDriver = Pick<StoreDriver, 'hash' | 'putBlocks' | 'getBlocks' | 'hasBlocks'>

/** The scope of a handle that was opened without one. */
export const defaultScope = 'default'

/**
 * Make a store of a driver, for one scope.
 *
 * @param driver the driver
 * @param scope the scope. Default: `default`
 * @param onNotice receives the reports of the store. Default: they are dropped
 * @returns the store; or `InvalidId`
 */
export const storeOf = (
  driver: StoreDriver,
  scope: string = defaultScope,
  onNotice: OnNotice = () => {},
): Either<StoreFaultOf<'InvalidId'>, Store> => {
  const problem = invalidId('scope', scope)
  return problem === undefined
    ? right(handle(driver, scope, { closed: undefined, signals: signalsOf(driver) }, undefined, onNotice))
    : left(problem)
}

/**
 * Make a block store of a driver, for one scope.
 *
 * @param driver the driver
 * @param scope the scope. Default: `default`
 * @returns the block store; or `InvalidId`
 */
export const blockStoreOf = (
  driver: BlockDriver,
  scope: string = defaultScope,
): Either<StoreFaultOf<'InvalidId'>, BlockStore> => {
  const problem = invalidId('scope', scope)
  if (problem !== undefined) return left(problem)
  const store = Object.freeze(blockHandle(driver, scope, guarded))
  behind.set(store, driver)
  return right(store)
}

/** What keeps the blocks of a handle. */
const behind = new WeakMap<BlockStore, object>()

/** The same blocks, beside values of which the first stays. */
export const withOnce = (store: BlockStore, once: OnceStore): BlockStore => {
  const both = Object.freeze({ ...store, once })
  standsFor(both, store)
  return both
}

/**
 * Declare that a handle has the blocks of another one, so that `sameBlocks` is true of both.
 *
 * @param store the new handle
 * @param other the handle whose blocks it has
 */
export const standsFor = (store: BlockStore, other: BlockStore): void =>
  void behind.set(store, behind.get(other) ?? other)

/**
 * Whether two handles have the same blocks: one scope of one opened store, with or without a cache.
 *
 * @param one a handle
 * @param other another handle
 * @returns true if they have
 */
export const sameBlocks = (one: BlockStore, other: BlockStore): boolean =>
  one.scope === other.scope && (behind.get(one) ?? one) === (behind.get(other) ?? other)

/** Of each driver: all handles on it hear of all its changes. */
const driverSignals = new WeakMap<StoreDriver, Signals>()

const signalsOf = (driver: StoreDriver): Signals => {
  const signals = driverSignals.get(driver) ?? new Signals()
  driverSignals.set(driver, signals)
  return signals
}

/** Closed handles answer nothing but `Closed`. */
interface Life {
  closed: Promise<void> | undefined
  /** For the watchers of the handle. */
  readonly signals: Signals
}

const handle = (driver: StoreDriver, scope: string, whole: Life, own: Life | undefined, onNotice: OnNotice): Store => {
  const life = own ?? whole
  const tell = (fault: StoreFault): void => quietly(onNotice)({ _tag: 'DamageFound', scope, fault })
  const run: Run = (operation, work, change) =>
    guarded(
      operation,
      async () => {
        if (whole.closed !== undefined || life.closed !== undefined) return left({ _tag: 'Closed' })
        const answered = await work()
        if (isLeft(answered) && (answered.left._tag === 'DamagedLog' || answered.left._tag === 'DamagedBlock'))
          tell(answered.left)
        return answered
      },
      change,
    )
  /** The same for what concerns a log. Its watchers are told of a change, also of one that may have happened. */
  const onLog = <F extends StoreFault, T>(
    operation: string,
    id: string,
    work: () => Answer<T>,
    change?: string,
  ): Task<F, T> =>
    run(
      operation,
      async () => {
        const problem = invalidId('log', id)
        if (problem !== undefined) return left(problem)
        try {
          return await work()
        } finally {
          if (change !== undefined) whole.signals.send(signalKey(scope, id))
        }
      },
      change,
    )
  const { hash, now = Date.now } = driver

  const store = Object.freeze<Store>({
    ...blockHandle(driver, scope, run),
    now,
    create: ({ id, meta = {}, rows = [], blocks = [] }) =>
      onLog(
        'create a log',
        id,
        async () => {
          const checked = checkMeta(meta)
          if (isLeft(checked)) return checked
          const first = checkAppend({ expected: headOf(emptyRange, hash), rows, blocks }, hash)
          return isLeft(first) ? first : driver.create(scope, id, checked.right, first.right)
        },
        'store.create',
      ),
    info: (id) => onLog('read a log', id, () => driver.info(scope, id)),
    list: ({ limit = 100, after, where = {}, by = 'created' } = {}) =>
      run('list logs', async () => {
        const cursor = after === undefined ? undefined : cursorIn(after, by)
        if (after !== undefined && cursor === undefined)
          return left({ _tag: 'InvalidId', what: 'cursor', reason: 'it is not the `next` of a page of this order' })
        const wanted = checkWhere(where)
        if (isLeft(wanted)) return wanted
        const checked = {
          limit: Math.max(1, Math.min(1000, Math.floor(limit) || 1)),
          after: cursor,
          where: wanted.right,
          by,
        }
        const page = await driver.list(scope, checked)
        if (!isLeft(page))
          for (const { id, reason } of page.right.damaged ?? []) tell({ _tag: 'DamagedLog', id, position: 0, reason })
        return page
      }),
    update: (id, { expected, meta }) =>
      onLog(
        'update metadata',
        id,
        async () => {
          const checked = checkMeta(meta)
          return isLeft(checked) ? checked : driver.update(scope, id, expected, checked.right)
        },
        'store.update',
      ),
    append: (id, append) =>
      onLog(
        'append',
        id,
        async () => {
          const checked = checkAppend(append, hash)
          return isLeft(checked) ? checked : driver.append(scope, id, checked.right)
        },
        'store.append',
      ),
    read: (id, range = {}) => onLog('read rows', id, () => driver.read(scope, id, range)),
    nodes: (id, positions) => onLog('read nodes', id, () => driver.nodes(scope, id, [...positions])),
    fork: (id, { id: to, at, meta = {} }) =>
      onLog(
        'fork',
        id,
        async () => {
          const problem = invalidId('log', to)
          if (problem !== undefined) return left(problem)
          const checked = checkMeta(meta)
          if (isLeft(checked)) return checked
          const forked = await driver.fork(scope, id, to, at, checked.right)
          whole.signals.send(signalKey(scope, to))
          return forked
        },
        'store.fork',
      ),
    remove: (id) => onLog('remove a log', id, () => driver.remove(scope, id), 'store.remove'),
    lease: (id, { holder, ttl }) =>
      onLog(
        'take a lease',
        id,
        async () => {
          const problem = invalidLease({ holder, ttl })
          return problem === undefined
            ? leased(await driver.lease(scope, id, { type: 'take', holder, ttl }))
            : left(problem)
        },
        'store.lease',
      ),
    renew: (id, { number, ttl }) =>
      onLog('renew a lease', id, async () => {
        const problem = invalidTtl(ttl)
        return problem === undefined
          ? leased(await driver.lease(scope, id, { type: 'renew', number, ttl }))
          : left(problem)
      }),
    release: (id, number) =>
      onLog(
        'release a lease',
        id,
        async () => {
          const released = await driver.lease(scope, id, { type: 'release', number })
          return isLeft(released) ? released : right(undefined)
        },
        'store.release',
      ),
    requestStop: (id) =>
      onLog('ask a holder to stop', id, () => driver.lease(scope, id, { type: 'stop' }), 'store.requestStop'),
    leaseOf: (id) => onLog('read a lease', id, () => driver.lease(scope, id, { type: 'look' })),
    check: () => run('check the store', async () => driver.check?.() ?? right([])),
    repair: () => run('repair the store', async () => driver.repair?.() ?? right([])),
    watch: (id, wake) =>
      onLog('watch a log', id, async () => {
        const key = signalKey(scope, id)
        const own = new Signals()
        own.add(key, wake) // whatever is thrown by it stays there
        const tellOwn = (): void => own.send()
        const ends = [...new Set([whole.signals, life.signals])].map((signals) => signals.add(key, tellOwn))
        const elsewhere = await driver.watch?.(scope, id, tellOwn)
        if (elsewhere !== undefined) ends.push(elsewhere)
        return right(() => {
          for (const end of ends.splice(0)) end()
        })
      }),
    scoped: (name) => {
      const problem = invalidId('scope', name)
      if (problem !== undefined) return left(problem)
      return right(handle(driver, name, whole, { closed: undefined, signals: new Signals() }, onNotice))
    },
    close: () =>
      guarded(
        'close',
        async () => {
          const first = life.closed === undefined
          life.closed ??= own === undefined ? driver.close() : Promise.resolve()
          if (first) life.signals.send() // whoever reads now is told that it is closed
          return right(await life.closed)
        },
        'store.close',
      ),
  })
  behind.set(store, driver)
  return store
}

/** Makes a task of what a driver does. */
type Run = <F extends StoreFault, T>(operation: string, work: () => Answer<T>, change?: string) => Task<F, T>

// The one cast: that a driver gives no other faults than the port names is what `storeContract` sees to.
const guarded: Run = <F extends StoreFault, T>(operation: string, work: () => Answer<T>, change?: string) =>
  storeTask(async () => {
    try {
      return await work()
    } catch (cause) {
      return left({ _tag: 'Io', operation, cause, ...(changing.has(operation) && { outcome: 'unknown' as const }) })
    }
  }, change) as Task<F, T>

/** Operations that change something: of one that throws, nobody knows whether it did. */
const changing: ReadonlySet<string> = new Set([
  'create a log',
  'update metadata',
  'append',
  'fork',
  'remove a log',
  'put blocks',
  'take a lease',
  'renew a lease',
  'release a lease',
  'ask a holder to stop',
])

/** Of a change that leaves a lease. */
const leased = (answered: Either<StoreFault, Lease | undefined>): Either<StoreFault, Lease> =>
  isLeft(answered) ? answered : right(answered.right as Lease) // `take` and `renew` leave one

const blockHandle = (driver: BlockDriver, scope: string, run: Run): BlockStore => {
  const { hash } = driver
  /** The driver gets each id once. */
  const onBlocks = <T>(
    operation: string,
    given: readonly BlockId[],
    work: (ids: readonly BlockId[]) => Answer<T>,
  ): Task<BlockFault, T> =>
    run(operation, async () => {
      const problem = invalidBlockId(given)
      return problem === undefined ? work([...new Set(given)]) : left(problem)
    })
  return {
    hash,
    scope,
    putBlocks: (given) =>
      run(
        'put blocks',
        async () => {
          const blocks = ownBlocks(given, hash)
          const done = await driver.putBlocks(scope, once(blocks))
          return isLeft(done) ? done : right(Object.freeze(blocks.map((block) => block.id)))
        },
        'store.putBlocks',
      ),
    getBlocks: (given) =>
      onBlocks('get blocks', given, async (ids) => {
        const found = await driver.getBlocks(scope, ids)
        if (isLeft(found)) return found
        const damaged = [...found.right].filter(([id, bytes]) => blockIdOf(bytes, hash) !== id).map(([id]) => id)
        return damaged.length > 0
          ? left({ _tag: 'DamagedBlock', ids: damaged })
          : right(Object.freeze(given.map((id) => found.right.get(id))))
      }),
    hasBlocks: (given) =>
      onBlocks('look for blocks', given, async (ids) => {
        const found = await driver.hasBlocks(scope, ids)
        return isLeft(found) ? found : right(Object.freeze(given.map((id) => found.right.has(id))))
      }),
  }
}

/** A copy, so that nothing changes it, of what can be found at all: `undefined` would else ask for nothing, and find all. */
const checkWhere = (given: Where, path: Path = []): Either<StoreFault, Where> => {
  const copy: [string, Where[string]][] = []
  for (const [key, value] of Object.entries(given)) {
    const here = [...path, key]
    if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      copy.push([key, value])
    else if (!isObject(value) || path.length > 100)
      return left({ _tag: 'InvalidMeta', path: here, reason: 'is no scalar and no object: nothing can be found by it' })
    else {
      const inner = checkWhere(value, here)
      if (isLeft(inner)) return inner
      copy.push([key, inner.right])
    }
  }
  return right(Object.freeze(Object.fromEntries(copy)))
}

const checkAppend = (append: Append, hash: Hash): Either<StoreFault, CheckedAppend> => {
  const { expected, operation } = append
  const problem = operation === undefined ? undefined : invalidId('operation', operation)
  if (problem !== undefined) return left(problem)
  const plan = planOf(append.rows, hash)
  const rows = plan === undefined ? checkRows(append.rows, hash) : right(plan.rows)
  if (isLeft(rows)) return rows
  const blocks = once(ownBlocks(append.blocks ?? [], hash))
  const named = blocks.length === 0 ? undefined : new Set(rows.right.flatMap((row) => row.blocks))
  const unused = blocks.filter((block) => !named?.has(block.id)).map((block) => block.id)
  if (unused.length > 0) return left({ _tag: 'UnusedBlock', ids: unused })
  const { lease, respectLease } = append
  return right({
    expected: { size: expected.size, root: expected.root },
    rows: rows.right,
    blocks,
    operation,
    plan,
    ...(lease !== undefined && { lease: { number: lease.number } }),
    ...(respectLease === true && { respectLease }),
  })
}

const ownBlocks = (blocks: readonly Uint8Array[], hash: Hash): Block[] =>
  Array.from(blocks, (given) => {
    const bytes = new Uint8Array(given) // a copy: theirs may change before it is stored
    return { id: blockIdOf(bytes, hash), bytes }
  })

const once = (blocks: readonly Block[]): Block[] => [...new Map(blocks.map((block) => [block.id, block])).values()]
