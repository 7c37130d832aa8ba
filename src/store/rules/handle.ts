/**
 * The store of a driver, for one scope. Arguments are checked and copied before the driver gets
 * them, watchers are notified of changes, and a closed handle returns only `Closed`.
 */
import * as E from '#fp-ts/Either'
import { pipe } from '#fp-ts/function'
import type { Either } from 'fp-ts/lib/Either.js'
import { amount, choice, type SignalLike, type Task } from '../../task/index.ts'
import {
  describe,
  freezeResult,
  isLeft,
  left,
  optionsOf,
  right,
  ownField,
  ownFields,
  present,
  type OptionNames,
} from '../../json/index.ts'
import { RecentMap } from '../../sequence/index.ts'
import { blockIdOf, emptyRange, type Hash } from '../../proof/internal.ts'
import { retry } from './retry.ts'
import {
  storageOf,
  blockHandle,
  defaultScope,
  exceptionIn,
  guardCall,
  operations,
  type Call,
  type Run,
} from './block-handle.ts'
import type { CheckOptions, StoreFinding } from '../port/check.ts'
import { checkQuery, listOrders } from './check-query.ts'
import { copyArgument } from '../port/copy-argument.ts'
import type { EraseRequest } from '../port/erasing.ts'
import type { Answer, CheckedAppend, StoreDriver, UnchangedLog } from '../port/driver.ts'
import { eraseRows, type InnerStore } from './erase.ts'
import { storeTask, type LogFault, type StoreFault, type StoreFaultOf } from '../fault.ts'
import { invalidId } from '../port/id.ts'
import {
  ownIdFault,
  changedOwnMember,
  isOwnCall,
  isOwnId,
  ownMember,
  ownNames,
  type OwnCall,
} from '../port/own-logs.ts'
import { ledgerContent, firstUnaccounted } from './ledger.ts'
import { actionReasonOf, ledgerId } from '../port/ledger-row.ts'
import {
  describeLog,
  forkedIdentities,
  identitiesIn,
  newIdentities,
  withIdentities,
  withoutIdentities,
  type LogIdentity,
} from '../port/identity.ts'
import {
  claimIn,
  invalidLease,
  invalidTtl,
  type Lease,
  type LeaseAnswer,
  type LeaseChange,
  type LeaseClaim,
} from '../port/lease.ts'
import { checkMeta } from '../port/meta.ts'
import { withoutThrows, type OnNotice } from '../port/notice.ts'
import { checkAppend, definePlannedAppend } from '../port/plan.ts'
import type { StoredRow } from '../port/row.ts'
import type { RowIndex, RowQuery, TermsOf } from '../port/row-terms.ts'
import { signalKey, Signals } from '../port/signals.ts'
import { cancelled, Slices } from '../port/slices.ts'
import { withStops } from './with-signal.ts'
import type { Append, AppendedRows, Fork, LogInfo, MetaUpdate, NewLog, Store } from '../port/store.ts'
import { headOf } from '../port/tree.ts'
import { undoneAdvice, undoneErasures, undoneText } from './undone-erasure.ts'

/**
 * Make a store from a driver, for one scope.
 *
 * @param scope the scope. Default: `default`
 * @param onNotice receives the reports of the store. Default: reports are dropped
 * @returns the store; or `InvalidId`
 */
export const storeOf = (
  driver: StoreDriver,
  scope: string = defaultScope,
  onNotice: OnNotice = () => {},
): Either<StoreFaultOf<'InvalidId'>, Store> => {
  if (typeof (Object(driver) as Partial<StoreDriver>).hash !== 'function')
    throw new TypeError(`storeOf takes a driver, such as memoryDriver(), found ${describe(driver)}`)
  const problem = invalidId('scope', scope)
  if (problem !== undefined) return left(problem)
  const whole = { closed: undefined, pending: new Set<Promise<unknown>>(), signals: signalsOf(driver) }
  return right(handle(new Calls(driver, scope, whole, undefined, onNotice)))
}

/** The signals of each driver, which all its handles share. */
const driverSignals = new WeakMap<StoreDriver, Signals>()

const signalsOf = (driver: StoreDriver): Signals => {
  const signals = driverSignals.get(driver) ?? new Signals()
  driverSignals.set(driver, signals)
  return signals
}

/** The state of a handle: open or closed. */
interface Life {
  closed: Promise<void> | undefined
  /** Pending work that calls the driver more than once. A close waits for it. */
  readonly pending: Set<Promise<unknown>>
  /** Signals for the handle's watchers. */
  readonly signals: Signals
}

/** A handle's calls to its driver. */
class Calls {
  readonly driver: StoreDriver
  readonly scope: string
  /** The state of the handle that the store was opened with. */
  readonly whole: Life
  /** The state of this handle, which can be closed by itself. */
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
    withoutThrows(this.onNotice)({ _tag: 'DamageFound', scope: this.scope, fault })
  }

  /** Registers work that calls the driver more than once. */
  async longer<T>(work: () => Promise<T>): Promise<T> {
    const { pending } = this.whole
    const working = work()
    pending.add(working)
    try {
      return await working
    } finally {
      pending.delete(working)
    }
  }

  async finished(): Promise<void> {
    await Promise.allSettled(this.whole.pending)
  }

  /** Signals that a log has changed, or may have. */
  changed(id: string): void {
    this.whole.signals.send(signalKey(this.scope, id))
  }

  readonly run: Run = <F extends StoreFault, T>(call: Call, work: () => Answer<T>) =>
    storeTask(() => this.whileOpen(call, work), `store.${call}`) as Task<F, T>

  /** Calls a driver, unless the handle is closed. Reports damage, and turns an exception into a fault. */
  async whileOpen<T>(call: Call, work: () => Answer<T>): Answer<T> {
    if (this.whole.closed !== undefined || this.life.closed !== undefined) return left({ _tag: 'Closed' })
    try {
      const answered = await work()
      if (isLeft(answered) && (answered.left._tag === 'DamagedLog' || answered.left._tag === 'DamagedBlock'))
        this.tell(answered.left)
      return answered
    } catch (cause) {
      return exceptionIn(call, cause)
    }
  }

  /**
   * Runs a call on a log, and notifies watchers if it changed the log or may have. Only the
   * library's own calls can change the library's own logs.
   */
  on<F extends StoreFault, T>(call: Call, id: string, work: () => Answer<T>, mark?: OwnCall): Task<F, T> {
    const [, changes] = operations[call]
    const forbidden = changes === 'log' ? ownIdFault(id, mark) : undefined
    return this.run(call, async () => {
      const problem = invalidId('log', id) ?? forbidden
      if (problem !== undefined) return left(problem)
      try {
        return await work()
      } finally {
        if (changes === 'log' || changes === 'lease') this.changed(id)
      }
    })
  }
}

const handle = (calls: Calls): Store => {
  const { driver, scope, onNotice, whole, life } = calls
  const store = Object.freeze<Store>({
    ...blockHandle(driver, scope, calls.run),
    ...logCalls(calls),
    ...leaseCalls(calls),
    ...indexCalls(calls),
    now: driver.now ?? Date.now,
    check: (options = {}) => {
      const { signal } = optionsOf('store.check', options, checkNames)
      return calls.run('check', () => calls.longer(() => checkStore(driver, signal)))
    },
    repair: (options = {}) => {
      const { signal } = optionsOf('store.repair', options, checkNames)
      return calls.run('repair', () => calls.longer(async () => driver.repair?.(signal) ?? right(Object.freeze([]))))
    },
    scopes: () =>
      calls.run('scopes', async () => {
        const found = (await driver.scopes?.()) ?? right(undefined)
        return isLeft(found) || found.right === undefined ? found : right(Object.freeze(found.right.toSorted()))
      }),
    scoped: (name) => {
      const problem = invalidId('scope', name)
      if (problem !== undefined) return left(problem)
      const own = { closed: undefined, pending: whole.pending, signals: new Signals() }
      return right(handle(new Calls(driver, name, whole, own, onNotice)))
    },
    close: () =>
      guardCall('close', async () => {
        const first = life.closed === undefined
        life.closed ??= life === whole ? calls.finished().then(() => driver.close()) : Promise.resolve()
        if (first) life.signals.send() // followers then read, and learn that the store is closed
        return right(await life.closed)
      }),
  })
  storageOf.set(store, driver)
  const appendRows = appendWith(calls)
  definePlannedAppend(store, (id, append) =>
    calls.whileOpen('append', async () => {
      try {
        return await appendRows(id, append)
      } finally {
        calls.changed(id)
      }
    }),
  )
  return store
}

/** Appends rows, checked if they belong to no plan. */
const appendWith = ({ driver, scope }: Calls): ((id: string, append: Append) => Answer<AppendedRows>) => {
  const inner = innerOf(driver, scope)
  return async (id, append) => {
    const checked = checkAppend(append, inner)
    if (isLeft(checked)) return checked
    const hasErased = checked.right.rows.some(({ erased }) => erased !== undefined)
    const problem = hasErased ? await againstErased(driver, inner, id, checked.right) : undefined
    if (problem !== undefined) return left(problem)
    const appended = await driver.append(scope, id, checked.right)
    if (!isLeft(appended) || appended.left._tag !== 'Conflict') return appended
    const judged = await checkReadRows(inner, id, appended.left.missed)
    return isLeft(judged) ? judged : appended
  }
}

const logCalls = (calls: Calls) => {
  const { driver, scope } = calls
  const inner = innerOf(driver, scope)
  const appendRows = appendWith(calls)
  const { pieces } = driver
  return {
    create: (log) => {
      const options = optionsOf('store.create', log, createNames)
      const { id, meta = {}, rows = [], blocks = [], terms } = options
      const work = async (): Answer<LogInfo> => {
        const checked = checkMeta(meta)
        if (isLeft(checked)) return checked
        const expected = headOf(emptyRange, driver.hash)
        const first = checkAppend(ownFields({ expected, rows, blocks, ...present({ terms }) }), inner)
        if (isLeft(first)) return first
        const problem = await againstErased(driver, inner, undefined, first.right)
        if (problem !== undefined) return left(problem)
        const kept = withIdentities(withoutIdentities(checked.right), newIdentities())
        return describeResult(await driver.create(scope, id, kept, first.right))
      }
      return calls.on('create', id, work, options)
    },
    info: (id) => calls.on('info', id, async () => describeResult(await driver.info(scope, id))),
    identities: (id) => calls.on('identities', id, () => identitiesOf(inner, id)),
    ...(pieces !== undefined && { pieces: () => calls.run('pieces', () => pieces(scope)) }),
    list: (input) => {
      const query = optionsOf('store.list', input, { limit: true, after: true, where: true, by: true })
      if (query.by !== undefined) choice('store.list: by', query.by, listOrders)
      amount('store.list: limit', query.limit ?? 100, { unit: 'logs', least: 1, most: 1000, whole: true })
      return calls.run('list', async () => {
        const checked = checkQuery(query)
        if (isLeft(checked)) return checked
        const page = await driver.list(scope, checked.right)
        if (isLeft(page)) return page
        for (const { id, reason } of ownField(page.right, 'damaged') ?? [])
          calls.tell({ _tag: 'DamagedLog', id, position: 0, reason })
        return right(Object.freeze({ ...page.right, logs: Object.freeze(page.right.logs.map(describeLog)) }))
      })
    },
    update: (id, change) => {
      const options = optionsOf('store.update', change, updateNames)
      const { expected, meta, ownKey } = options
      const work = async (): Answer<LogInfo> => {
        const checked = checkMeta(meta)
        if (isLeft(checked)) return checked
        const found = await inner.info(id)()
        if (isLeft(found)) return found
        const { meta: before, version } = found.right
        const after = withoutIdentities(checked.right)
        const isPublic = !isOwnCall(options) && version === expected // a different version is a conflict anyway
        const name = isPublic ? changedOwnMember(withoutIdentities(before), after) : undefined
        if (name !== undefined) return left(ownMember(name))
        const kept = withIdentities(after, identitiesIn(before))
        return describeResult(await driver.update(scope, id, { ...claimIn(options), expected, meta: kept, ownKey }))
      }
      return calls.on('update', id, work, options)
    },
    append: (id, input) => {
      const append = optionsOf('store.append', input, appendNames)
      return calls.on('append', id, () => appendRows(id, append), append)
    },
    read: (id, input) => {
      const range = optionsOf('store.read', input, { from: true, to: true, only: true })
      return calls.on('read', id, async () => {
        const rows = await driver.read(scope, id, range)
        return isLeft(rows) ? rows : checkReadRows(inner, id, rows.right)
      })
    },
    nodes: (id, positions) => calls.on('nodes', id, () => driver.nodes(scope, id, [...positions])),
    fork: (id, fork) => {
      const options = optionsOf('store.fork', fork, forkNames)
      const { id: to, at, meta = {} } = options
      const work = async (): Answer<LogInfo> => {
        const problem = invalidId('log', to) ?? ownIdFault(to, options)
        if (problem !== undefined) return left(problem)
        const checked = checkMeta(meta)
        if (isLeft(checked)) return checked
        const identities = await identitiesOf(inner, id)
        if (isLeft(identities)) return identities
        const kept = withIdentities(withoutIdentities(checked.right), forkedIdentities(identities.right, at))
        const forked = await driver.fork(scope, id, to, at, kept)
        calls.changed(to)
        return describeResult(forked)
      }
      return calls.on('fork', id, work, options)
    },
    remove: (id, request) => {
      const options = optionsOf('store.remove', request, removeNames)
      const reader = withStops(inner, options.signal)
      const work = async (isLast: boolean): Promise<Either<StoreFault, void> | undefined> => {
        const free = await ledgerWithoutHold(reader, id)
        if (isLeft(free)) return free
        const ended = cancelled(options.signal)
        if (ended !== undefined) return left(ended)
        const removed = await driver.remove(scope, id, free.right)
        const isLate = isLeft(removed) && removed.left._tag === 'Conflict' // the ledger changed meanwhile
        return isLate && !isLast ? undefined : removed
      }
      return calls.on('remove', id, () => calls.longer(() => retry(work)), options)
    },
    erase: (input) => {
      const request = copyArgument(optionsOf('store.erase', input, eraseNames))
      return calls.run('erase', () =>
        calls.longer(async () => {
          try {
            return await eraseRows(driver, inner, request)
          } finally {
            for (const { id } of [...request.logs, { id: ledgerId }]) calls.changed(id)
          }
        }),
      )
    },
    sharing: (id) =>
      calls.on('sharing', id, async () => {
        const found = (await driver.erasing?.sharing(scope, id)) ?? left<StoreFault>({ _tag: 'CannotErase' })
        return pipe(found, E.map(freezeResult))
      }),
    containing: (texts) =>
      calls.run('containing', async () => {
        const found = (await driver.erasing?.containing(scope, [...texts])) ?? left<StoreFault>({ _tag: 'CannotErase' })
        return pipe(found, E.map(freezeResult))
      }),
    watch: (id, wake) =>
      calls.on('watch', id, async () => {
        const key = signalKey(scope, id)
        const own = new Signals()
        own.add(key, wake) // `Signals` ignores its exceptions
        const wakeOwnFollowers = (): void => own.send()
        const ends = [...new Set([calls.whole.signals, calls.life.signals])].map((signals) =>
          signals.add(key, wakeOwnFollowers),
        )
        const elsewhere = await driver.watch?.(scope, id, wakeOwnFollowers)
        if (elsewhere !== undefined) ends.push(elsewhere)
        return right(() => {
          for (const end of ends.splice(0)) end()
        })
      }),
  } satisfies Partial<Store>
}

const leaseCalls = (calls: Calls) => {
  const changeLeaseOf = async (id: string, change: LeaseChange): Answer<LeaseAnswer> => {
    const answer = await calls.driver.lease(calls.scope, id, change)
    // Whoever waits for a lease without a number or a time would ask for it without a pause.
    const wrong = isLeft(answer)
      ? answer.left._tag === 'LeaseHeld' && !Number.isFinite(answer.left.remaining)
      : !isLeaseAnswer(answer.right, change.type === 'take' || change.type === 'renew')
    if (wrong)
      throw new TypeError(`the driver answered ${describe(isLeft(answer) ? answer.left : answer.right)} for a lease`)
    return answer
  }
  return {
    lease: (id, options) => {
      const { holder, ttl } = optionsOf('store.lease', options, { holder: true, ttl: true })
      return calls.on('lease', id, async () => {
        const problem = invalidLease({ holder, ttl })
        return problem === undefined
          ? pipe(
              await changeLeaseOf(id, { type: 'take', holder, ttl }),
              E.map(({ lease, head }) => Object.freeze({ ...(lease as Lease), head })), // there is one after `take`
            )
          : left(problem)
      })
    },
    renew: (id, options) => {
      const { number, ttl } = optionsOf('store.renew', options, { number: true, ttl: true })
      return calls.on('renew', id, async () => {
        const problem = invalidTtl(ttl)
        return problem === undefined
          ? pipe(
              await changeLeaseOf(id, { type: 'renew', number, ttl }),
              E.map(({ lease }) => lease as Lease), // there is one after `renew`
            )
          : left(problem)
      })
    },
    release: (id, number) =>
      calls.on('release', id, async () => {
        return pipe(
          await changeLeaseOf(id, { type: 'release', number }),
          E.map(({ head }) => head),
        )
      }),
    requestStop: (id) =>
      calls.on('requestStop', id, async () => pipe(await changeLeaseOf(id, { type: 'stop' }), E.map(leaseIn))),
    leaseOf: (id) =>
      calls.on('leaseOf', id, async () => pipe(await changeLeaseOf(id, { type: 'look' }), E.map(leaseIn))),
  } satisfies Partial<Store>
}

/** Hides damaged blocks from a term function, so that no terms of theirs are indexed. */
const termsOfIntactBlocks =
  (terms: TermsOf, hash: Hash): TermsOf =>
  (row, block) =>
    terms(row, (id) => {
      const bytes = block(id)
      return bytes === undefined || blockIdOf(bytes, hash) !== id ? undefined : bytes
    })

const indexCalls = ({ driver, scope, run }: Calls): Pick<Store, 'index'> => {
  const index = ownField(driver, 'index')
  if (index === undefined) return {}
  return {
    index: Object.freeze<RowIndex>({
      find: (rowQuery) => {
        const query = copyArgument(optionsOf('store.index.find', rowQuery, findNames))
        const limit = Math.max(1, Math.min(1000, Math.floor(query.limit ?? 100) || 1))
        return run('index.find', () => index.find(scope, { ...query, limit }))
      },
      findIn: (logs, term) => run('index.findIn', () => index.findIn(scope, [...new Set(logs)], term)),
      places: (query) => run('index.places', async () => index.places?.(scope, query) ?? right(undefined)),
      logsAt: (places) => run('index.logsAt', async () => index.logsAt?.(scope, places) ?? right([])),
      segmentsOf: (logs) => run('index.segmentsOf', async () => index.segmentsOf?.(scope, logs) ?? right([])),
      encrypted: () => run('index.encrypted', async () => index.encrypted?.(scope) ?? right(Object.freeze([]))),
      make: () => run('index.make', () => index.make()),
      add: (terms, most) => run('index.add', () => index.add(termsOfIntactBlocks(terms, driver.hash), most)),
      drop: () => run('index.drop', () => index.drop()),
    }),
  }
}

/** @param isThere whether there is a lease after the change */
const isLeaseAnswer = ({ lease, head }: Partial<LeaseAnswer>, isThere: boolean): boolean =>
  Number.isSafeInteger(head?.size) && (lease === undefined ? !isThere : Number.isSafeInteger(lease.number))

const leaseIn = ({ lease }: LeaseAnswer): Lease | undefined => lease

/** Inner stores by driver and scope. They are kept, because the ledger read through each is cached. */
const inners = new WeakMap<StoreDriver, RecentMap<string, InnerStore>>()

/** A store over the driver for use inside other calls, even while a handle is closing. */
const innerOf = (driver: StoreDriver, scope: string): InnerStore => {
  const known = inners.get(driver) ?? new RecentMap<string, InnerStore>(1000)
  inners.set(driver, known)
  const { hash, now = Date.now } = driver
  const inner = known.get(scope) ?? {
    hash,
    scope,
    now,
    info: (id) => guardCall('info', () => driver.info(scope, id)),
    read: (id, range = {}) => guardCall('read', () => driver.read(scope, id, range)),
    nodes: (id, positions) => guardCall('nodes', () => driver.nodes(scope, id, positions)),
  }
  known.set(scope, inner)
  return inner
}

/** Checks rows that were read: a row without a text is damage, unless the ledger records its erasure. */
const checkReadRows = async (
  store: InnerStore,
  id: string,
  rows: readonly StoredRow[],
): Promise<Either<StoreFault, readonly StoredRow[]>> => {
  const first = rows.find(({ erased }) => erased !== undefined)
  if (first === undefined) return right(rows)
  const damaged = ({ position }: StoredRow, reason: string): StoreFault => ({
    _tag: 'DamagedLog',
    id,
    position,
    reason,
  })
  const content = id === ledgerId ? right({ erased: new Map() }) : await ledgerContent(store)
  const identities = await identitiesOf(store, id)
  if (isLeft(identities)) return identities
  if (isLeft(content))
    return content.left._tag === 'DamagedLog' || content.left._tag === 'NotALedger'
      ? left(damaged(first, `its text is missing, and the ledger can't be read: ${content.left.reason}`))
      : content
  const bad = firstUnaccounted(content.right, rows, identities.right, store.hash)
  return bad === undefined
    ? right(rows)
    : left(damaged(bad, 'its text is missing, and the ledger does not record that it was erased'))
}

/** The fault of appending rows without a text that the ledger does not record as erased. */
const againstErased = async (
  driver: StoreDriver,
  store: InnerStore,
  id: string | undefined,
  { expected, rows }: Pick<CheckedAppend, 'expected' | 'rows'>,
): Promise<StoreFault | undefined> => {
  const index = rows.findIndex(({ erased }) => erased !== undefined)
  if (index === -1) return undefined
  if (driver.erasing === undefined)
    return { _tag: 'InvalidRow', index, reason: "was erased, and this store can't store erased rows" }
  const content = await ledgerContent(store)
  if (isLeft(content)) return content.left
  const placed = rows.map((row, offset) => ({ ...row, position: expected.size + offset, index: 0 }))
  const identities = id === undefined ? right([]) : await identitiesOf(store, id) // no erasure can name a new log
  if (isLeft(identities)) return identities.left
  const bad = firstUnaccounted(content.right, placed, identities.right, store.hash)
  return bad === undefined
    ? undefined
    : {
        _tag: 'InvalidRow',
        index: bad.position - expected.size,
        reason: 'was erased, and the ledger of this store does not record that',
      }
}

const identitiesOf = async (store: InnerStore, id: string): Promise<Either<LogFault, readonly LogIdentity[]>> => {
  return pipe(
    await store.info(id)(),
    E.map(({ meta }) => Object.freeze(identitiesIn(meta))),
  )
}

/** Removes identities from the returned description, and from the metadata in a conflict. */
const describeResult = (answer: Either<StoreFault, LogInfo>): Either<StoreFault, LogInfo> =>
  !isLeft(answer)
    ? right(describeLog(answer.right))
    : answer.left._tag === 'MetaConflict'
      ? left({ ...answer.left, meta: withoutIdentities(answer.left.meta) })
      : answer

/** The driver's findings, and in each scope the rows that have a text although the ledger records their erasure. */
const checkStore = async (driver: StoreDriver, signal: SignalLike | undefined): Answer<readonly StoreFinding[]> => {
  const found = (await driver.check?.(signal)) ?? right(Object.freeze([]))
  const scopes = (await driver.scopes?.()) ?? right(Object.freeze([]))
  if (isLeft(found)) return found
  if (isLeft(scopes)) return scopes
  const findings = [...found.right]
  const slices = new Slices()
  for (const scope of scopes.right) {
    const inner = withStops(innerOf(driver, scope), signal)
    const noticeDamage = (id: string, position: number, what: string): void => {
      const where = `${JSON.stringify(id)} of scope ${JSON.stringify(scope)} at ${position}`
      findings.push(Object.freeze({ table: 'row', where, what, repairable: false }))
    }
    const undone = await undoneErasures(inner)
    if (isLeft(undone) && undone.left._tag === 'Cancelled') return undone
    for (const erasure of isLeft(undone) ? [] : undone.right)
      // the driver reports an unreadable ledger
      noticeDamage(erasure.erasure.id, erasure.position, `${undoneText(erasure)}; ${undoneAdvice}`)
    const erased = await driver.erasing?.erased?.(scope)
    if (erased !== undefined && isLeft(erased)) return erased
    for (const { id, position } of erased?.right ?? []) {
      await slices.next()
      const ended = cancelled(signal)
      if (ended !== undefined) return left(ended)
      if (id === '') continue // no log has it
      const read = await driver.read(scope, id, { from: position, to: position + 1 })
      const judged = isLeft(read) ? read : await checkReadRows(inner, id, read.right)
      if (!isLeft(read) && isLeft(judged) && judged.left._tag === 'DamagedLog')
        noticeDamage(id, position, judged.left.reason)
    }
  }
  return right(Object.freeze(findings))
}

/** The ledger's head, if it records no hold on the log. The log can be removed as long as that head is unchanged. */
const ledgerWithoutHold = async (
  store: InnerStore,
  id: string,
): Promise<Either<StoreFault, UnchangedLog | undefined>> => {
  if (isOwnId(id)) return right(undefined) // the library's own functions check the ledger themselves where necessary
  const content = await ledgerContent(store)
  if (isLeft(content)) return content
  const { head, held } = content.right
  const hold = held.get(id)
  if (hold === undefined) return right({ id: ledgerId, head })
  return left({ _tag: 'LogHeld', id, ...actionReasonOf(hold) })
}

const claimNames: OptionNames<LeaseClaim & OwnCall> = { lease: true, respectLease: true, ...ownNames }
const checkNames: OptionNames<CheckOptions> = { signal: true }
const removeNames: OptionNames<CheckOptions & OwnCall> = { ...checkNames, ...ownNames }
const createNames: OptionNames<NewLog> = {
  id: true,
  meta: true,
  rows: true,
  blocks: true,
  terms: true,
  encrypt: true,
  ...ownNames,
}
const updateNames: OptionNames<MetaUpdate> = { expected: true, meta: true, ownKey: true, ...claimNames }
const appendNames: OptionNames<Append> = {
  expected: true,
  rows: true,
  blocks: true,
  operation: true,
  terms: true,
  attached: true,
  ownKey: true,
  ...claimNames,
}
const forkNames: OptionNames<Fork> = { id: true, at: true, meta: true, sameKey: true, ...ownNames }
const eraseNames: OptionNames<EraseRequest> = { logs: true, copied: true, cleanLater: true, reason: true, by: true }
const findNames: OptionNames<RowQuery> = {
  all: true,
  none: true,
  log: true,
  since: true,
  until: true,
  limit: true,
  after: true,
  count: true,
}
