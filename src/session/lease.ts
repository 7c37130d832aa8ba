/** The lease of a session: taking it, renewing it while it is held, carrying its number in every append. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from '../json/index.ts'
import { amount, FaultError, newAbort, type Signal, type Task } from '../task/index.ts'
import type { Lease, LeaseFault, LogFault, Store, StoreFault, StoreFaultOf } from '../store/index.ts'
import {
  sessionFaultText,
  sessionTask,
  type LeaseSessionFault,
  type RefreshFault,
  type SessionFault,
  type SessionFaultOf,
} from './fault.ts'

/** The holder of a lease, and its times. */
export interface LeaseOptions {
  /** The name of the holder, for others to read: 1 to 255 bytes without control characters. It need not be unique. */
  readonly holder: string
  /**
   * Time to live in milliseconds: if the holder does not renew the lease for that long, others may take it. It is
   * renewed
   * after a third. Default: 30,000.
   */
  readonly ttl?: number
  /** How long to wait for another holder, in milliseconds. Default: 0. */
  readonly wait?: number
}

/** A lease that this handle has. Every append of the handle carries it until it is released. */
export interface SessionLease {
  /** The fencing number: greater than that of every earlier lease of this session. */
  readonly number: number
  /** The name of the holder, as this handle gave it. */
  readonly holder: string
  /** False once the lease is lost or released. A paused holder notices late; the store does not. */
  readonly held: boolean
  /**
   * Aborted when another process asks the holder to stop (`StopRequested`), and when the lease is lost (`LeaseLost`);
   * the
   * reason is a FaultError. Give it to a run. After a request to stop the lease is still held, so the run can finish
   * its
   * step.
   */
  readonly signal: Signal
  /**
   * Release the lease. The handle then appends without one. Closing the session releases it, too.
   *
   * @returns nothing
   */
  readonly release: () => Task<LogFault, void>
}

/** The leases of one handle. */
export interface Holding {
  /** The store, with appends that carry the lease. */
  readonly store: Store
  /** @param refresh reads what the holder before has appended; a failure gives the lease back */
  readonly take: (
    options: LeaseOptions,
    refresh: () => Promise<Either<RefreshFault, unknown>>,
  ) => Task<LeaseSessionFault, SessionLease>
  readonly release: () => Promise<void>
  /** The lease that was taken last, unless it was released. */
  readonly held: () => SessionLease | undefined
}

declare const performance: { readonly now: () => number }
declare const setTimeout: (work: () => void, milliseconds: number) => unknown
declare const clearTimeout: (timer: unknown) => void

const sleep = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** @param ended told that leases up to a number are not held any more */
export const createHolding = (store: Store, id: string, ended: (number: number) => void): Holding => {
  let current: Kept | undefined
  let given: SessionLease | undefined
  const carrying: Store = {
    ...store,
    append: (log, append) =>
      store.append(log, current === undefined ? append : { ...append, lease: { number: current.lease.number } }),
  }
  const release = async (kept: Kept): Promise<Either<LogFault, void>> => {
    kept.end()
    const released = await store.release(id, kept.lease.number)()
    if (current === kept) current = given = undefined
    ended(kept.lease.number)
    return released
  }
  return {
    store: carrying,
    take: (options, refresh) => {
      amount('wait', options.wait ?? 0, { unit: 'milliseconds' })
      return sessionTask(async () => {
        const taken = await taking(store, id, options)
        if (isLeft(taken)) return taken
        const kept = keep(store, id, taken.right, options.ttl ?? defaultTtl)
        current?.end()
        current = kept
        given = undefined
        ended(taken.right.number - 1)
        const refreshed = await refresh()
        if (isLeft(refreshed)) {
          await release(kept)
          return refreshed
        }
        const { number, holder } = taken.right
        return right(
          (given = Object.freeze<SessionLease>({
            number,
            holder,
            get held() {
              return kept.held
            },
            signal: kept.signal,
            release: () => sessionTask(() => release(kept), 'lease.release'),
          })),
        )
      }, 'session.lease')
    },
    held: () => given,
    release: async () => {
      if (current !== undefined) await release(current) // a lease that can't be given back expires
    },
  }
}

const defaultTtl = 30_000

/** Milliseconds between two tries for a lease that somebody holds: the first, and the most. */
const soonest = 10
const latest = 250

const taking = async (
  store: Store,
  id: string,
  { holder, ttl = defaultTtl, wait = 0 }: LeaseOptions,
): Promise<Either<Exclude<LeaseFault, StoreFaultOf<'LeaseHeld'>> | SessionFaultOf<'SessionBusy'>, Lease>> => {
  const until = performance.now() + wait
  for (let pause = soonest; ; pause = Math.min(pause * 2, latest)) {
    const answer = await store.lease(id, { holder, ttl })()
    if (!isLeft(answer)) return answer
    if (answer.left._tag !== 'LeaseHeld') return left(busyOf(answer.left))
    const rest = until - performance.now()
    if (rest <= 0) return left(busyOf(answer.left))
    // Not all waiters at the same moment again.
    await sleep(Math.min(pause * (0.5 + Math.random()), answer.left.remaining + 1, rest))
  }
}

/** What a store says of a log that somebody holds, as a session's fault. */
export const busyOf = <F extends SessionFault | StoreFault>(
  fault: F,
): Exclude<F, { _tag: 'LeaseHeld' }> | SessionFaultOf<'SessionBusy'> => {
  if (fault._tag !== 'LeaseHeld') return fault as Exclude<F, { _tag: 'LeaseHeld' }> // its tag was compared
  const { id, holder, expires, remaining } = fault
  return { _tag: 'SessionBusy', id, holder, until: expires, remaining }
}

/** A lease that is renewed. */
interface Kept {
  readonly lease: Lease
  readonly held: boolean
  readonly signal: Signal
  readonly end: () => void
}

const keep = (store: Store, id: string, lease: Lease, ttl: number): Kept => {
  const { number } = lease
  const { signal, abort } = newAbort()
  let held = true
  let renewal: unknown
  let expiry: unknown

  const end = (): void => {
    held = false
    clearTimeout(renewal)
    clearTimeout(expiry)
  }
  const stop = (fault: SessionFault | StoreFault): void => abort(new FaultError(fault, sessionFaultText(fault)))
  const lose = (fault: StoreFault): void => {
    if (!held) return
    end()
    stop(fault)
  }
  /** It expires in the store no earlier than here, counted from before it was asked for. */
  const lasts = (from: number): void => {
    clearTimeout(expiry)
    expiry = timer(() => lose({ _tag: 'LeaseLost', id, number }), Math.max(0, from + ttl - performance.now()))
  }
  const renewIn = (milliseconds: number): void => {
    renewal = timer(() => void renew(), milliseconds)
  }
  const renew = async (): Promise<void> => {
    const asked = performance.now()
    const answer = await store.renew(id, { number, ttl })()
    if (!held) return
    if (!isLeft(answer)) {
      lasts(asked)
      if (answer.right.stopRequested && !signal.aborted) stop({ _tag: 'StopRequested', id })
      renewIn(ttl / 3)
    } else if (answer.left._tag === 'Io' || answer.left._tag === 'Busy') renewIn(ttl / 10) // until it expires
    else lose(answer.left)
  }

  lasts(performance.now() - (ttl - lease.remaining))
  renewIn(ttl / 3)
  return {
    lease,
    get held() {
      return held
    },
    signal,
    end,
  }
}

/** A timer that keeps no process alive. */
const timer = (work: () => void, milliseconds: number): unknown => {
  const made = setTimeout(work, milliseconds)
  if (typeof made === 'object') (made as { readonly unref?: () => void } | null)?.unref?.() // Node's
  return made
}
