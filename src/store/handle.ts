/**
 * The store that a driver keeps, for one scope: what is given is checked and copied before the driver is asked, watchers
 * are told of changes, and a closed handle answers nothing but `Closed`.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import type { Task } from '../task/index.ts'
import { isLeft, left, optionsOf, right } from '../json/index.ts'
import { emptyRange } from '../proof/index.ts'
import { behind, blockHandle, defaultScope, guarded, type Run } from './block-handle.ts'
import { checkAppend, checkQuery } from './checked.ts'
import type { Answer, StoreDriver } from './driver.ts'
import type { StoreFault, StoreFaultOf } from './fault.ts'
import { invalidId } from './id.ts'
import { invalidLease, invalidTtl, type Lease } from './lease.ts'
import { checkMeta } from './meta.ts'
import { quietly, type OnNotice } from './notice.ts'
import { signalKey, Signals } from './signals.ts'
import type { Store } from './store.ts'
import { headOf } from './tree.ts'

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
    ? right(handle(new Calls(driver, scope, { closed: undefined, signals: signalsOf(driver) }, undefined, onNotice)))
    : left(problem)
}

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

/** How a handle calls its driver. */
class Calls {
  readonly driver: StoreDriver
  readonly scope: string
  /** Of the handle that the store was opened with. */
  readonly whole: Life
  /** Of this handle. */
  readonly life: Life
  readonly onNotice: OnNotice

  constructor(driver: StoreDriver, scope: string, whole: Life, own: Life | undefined, onNotice: OnNotice) {
    this.driver = driver
    this.scope = scope
    this.whole = whole
    this.life = own ?? whole
    this.onNotice = onNotice
  }

  tell(fault: StoreFault): void {
    quietly(this.onNotice)({ _tag: 'DamageFound', scope: this.scope, fault })
  }

  /** A log has changed, or may have. */
  changed(id: string): void {
    this.whole.signals.send(signalKey(this.scope, id))
  }

  readonly run: Run = (operation, work, change) =>
    guarded(
      operation,
      async () => {
        if (this.whole.closed !== undefined || this.life.closed !== undefined) return left({ _tag: 'Closed' })
        const answered = await work()
        if (isLeft(answered) && (answered.left._tag === 'DamagedLog' || answered.left._tag === 'DamagedBlock'))
          this.tell(answered.left)
        return answered
      },
      change,
    )

  /** The same for what concerns a log. Its watchers are told of a change, also of one that may have happened. */
  onLog<F extends StoreFault, T>(operation: string, id: string, work: () => Answer<T>, change?: string): Task<F, T> {
    return this.run(
      operation,
      async () => {
        const problem = invalidId('log', id)
        if (problem !== undefined) return left(problem)
        try {
          return await work()
        } finally {
          if (change !== undefined) this.changed(id)
        }
      },
      change,
    )
  }
}

const handle = (calls: Calls): Store => {
  const { driver, scope, onNotice, whole, life } = calls
  const store = Object.freeze<Store>({
    ...blockHandle(driver, scope, calls.run),
    ...logCalls(calls),
    ...leaseCalls(calls),
    now: driver.now ?? Date.now,
    check: () => calls.run('check the store', async () => driver.check?.() ?? right([])),
    repair: () => calls.run('repair the store', async () => driver.repair?.() ?? right([])),
    scoped: (name) => {
      const problem = invalidId('scope', name)
      if (problem !== undefined) return left(problem)
      const own = { closed: undefined, signals: new Signals() }
      return right(handle(new Calls(driver, name, whole, own, onNotice)))
    },
    close: () =>
      guarded(
        'close',
        async () => {
          const first = life.closed === undefined
          life.closed ??= life === whole ? driver.close() : Promise.resolve()
          if (first) life.signals.send() // whoever reads now is told that it is closed
          return right(await life.closed)
        },
        'store.close',
      ),
  })
  behind.set(store, driver)
  return store
}

type LogCalls = 'create' | 'info' | 'list' | 'update' | 'append' | 'read' | 'nodes' | 'fork' | 'remove' | 'watch'

const logCalls = (calls: Calls): Pick<Store, LogCalls> => {
  const { driver, scope } = calls
  const { hash } = driver
  return {
    create: (given) => {
      const { id, meta = {}, rows = [], blocks = [] } = optionsOf('store.create', given)
      return calls.onLog(
        'create a log',
        id,
        async () => {
          const checked = checkMeta(meta)
          if (isLeft(checked)) return checked
          const first = checkAppend({ expected: headOf(emptyRange, hash), rows, blocks }, hash)
          return isLeft(first) ? first : driver.create(scope, id, checked.right, first.right)
        },
        'store.create',
      )
    },
    info: (id) => calls.onLog('read a log', id, () => driver.info(scope, id)),
    list: (given) => {
      const query = optionsOf('store.list', given)
      return calls.run('list logs', async () => {
        const checked = checkQuery(query)
        if (isLeft(checked)) return checked
        const page = await driver.list(scope, checked.right)
        if (!isLeft(page))
          for (const { id, reason } of page.right.damaged ?? [])
            calls.tell({ _tag: 'DamagedLog', id, position: 0, reason })
        return page
      })
    },
    update: (id, given) => {
      const { expected, meta } = optionsOf('store.update', given)
      return calls.onLog(
        'update metadata',
        id,
        async () => {
          const checked = checkMeta(meta)
          return isLeft(checked) ? checked : driver.update(scope, id, expected, checked.right)
        },
        'store.update',
      )
    },
    append: (id, given) => {
      const append = optionsOf('store.append', given)
      return calls.onLog(
        'append',
        id,
        async () => {
          const checked = checkAppend(append, hash)
          return isLeft(checked) ? checked : driver.append(scope, id, checked.right)
        },
        'store.append',
      )
    },
    read: (id, given) => {
      const range = optionsOf('store.read', given)
      return calls.onLog('read rows', id, () => driver.read(scope, id, range))
    },
    nodes: (id, positions) => calls.onLog('read nodes', id, () => driver.nodes(scope, id, [...positions])),
    fork: (id, given) => {
      const { id: to, at, meta = {} } = optionsOf('store.fork', given)
      return calls.onLog(
        'fork',
        id,
        async () => {
          const problem = invalidId('log', to)
          if (problem !== undefined) return left(problem)
          const checked = checkMeta(meta)
          if (isLeft(checked)) return checked
          const forked = await driver.fork(scope, id, to, at, checked.right)
          calls.changed(to)
          return forked
        },
        'store.fork',
      )
    },
    remove: (id) => calls.onLog('remove a log', id, () => driver.remove(scope, id), 'store.remove'),
    watch: (id, wake) =>
      calls.onLog('watch a log', id, async () => {
        const key = signalKey(scope, id)
        const own = new Signals()
        own.add(key, wake) // whatever is thrown by it stays there
        const tellOwn = (): void => own.send()
        const ends = [...new Set([calls.whole.signals, calls.life.signals])].map((signals) => signals.add(key, tellOwn))
        const elsewhere = await driver.watch?.(scope, id, tellOwn)
        if (elsewhere !== undefined) ends.push(elsewhere)
        return right(() => {
          for (const end of ends.splice(0)) end()
        })
      }),
  }
}

type LeaseCalls = 'lease' | 'renew' | 'release' | 'requestStop' | 'leaseOf'

const leaseCalls = (calls: Calls): Pick<Store, LeaseCalls> => {
  const { driver, scope } = calls
  return {
    lease: (id, given) => {
      const { holder, ttl } = optionsOf('store.lease', given)
      return calls.onLog(
        'take a lease',
        id,
        async () => {
          const problem = invalidLease({ holder, ttl })
          return problem === undefined
            ? leased(await driver.lease(scope, id, { type: 'take', holder, ttl }))
            : left(problem)
        },
        'store.lease',
      )
    },
    renew: (id, given) => {
      const { number, ttl } = optionsOf('store.renew', given)
      return calls.onLog('renew a lease', id, async () => {
        const problem = invalidTtl(ttl)
        return problem === undefined
          ? leased(await driver.lease(scope, id, { type: 'renew', number, ttl }))
          : left(problem)
      })
    },
    release: (id, number) =>
      calls.onLog(
        'release a lease',
        id,
        async () => {
          const released = await driver.lease(scope, id, { type: 'release', number })
          return isLeft(released) ? released : right(undefined)
        },
        'store.release',
      ),
    requestStop: (id) =>
      calls.onLog('ask a holder to stop', id, () => driver.lease(scope, id, { type: 'stop' }), 'store.requestStop'),
    leaseOf: (id) => calls.onLog('read a lease', id, () => driver.lease(scope, id, { type: 'look' })),
  }
}

/** Of a change that leaves a lease. */
const leased = (answered: Either<StoreFault, Lease | undefined>): Either<StoreFault, Lease> =>
  isLeft(answered) ? answered : right(answered.right as Lease) // `take` and `renew` leave one
