/** A run's lease: acquired at its start, released at its end. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, right, optionsOf, ownFields, type OptionNames } from '../../json/index.ts'
import { runLost, runStopped } from '../../message/internal.ts'
import type { Session, SessionLease } from '../../session/index.ts'
import type { Head } from '../../store/index.ts'
import { defaultTtl, leaseOfSession, type LeaseSessionFault } from '../../session/internal.ts'
import { amount, choice, clockOf, type Clock, reasonOf } from '../../task/index.ts'

/** How a run holds its session. */
export interface RunLeaseOptions {
  /** The holder's name, shown to others. Default: `run`. */
  readonly holder?: string
  /** Milliseconds until another process may take over from a dead one. Renewed after a third. Default: 10,000. */
  readonly ttl?: number
  /** What to do if another process holds the session: `fail` with `SessionBusy`, or `wait`. Default: `fail`. */
  readonly whenBusy?: 'fail' | 'wait'
  /** The maximum milliseconds to wait. Default: no limit. */
  readonly wait?: number
  /** The clock for renewals and waits. Default: the system clock. */
  readonly clock?: Clock
}

const optionNames: OptionNames<RunLeaseOptions> = { holder: true, ttl: true, whenBusy: true, wait: true, clock: true }

/** Throws a TypeError for an invalid option. */
export const checkRunLease = (options: RunLeaseOptions): void => {
  const { whenBusy = 'fail', wait = Infinity } = optionsOf('sessionHandler: lease', options, optionNames)
  choice('lease.whenBusy', whenBusy, ['fail', 'wait'])
  amount('lease.wait', wait, { unit: 'milliseconds' })
}

export type LeaseLost = Extract<LeaseSessionFault, { readonly _tag: 'LeaseLost' }>

export interface RunLease {
  readonly number: number
  /** Whether another process holds the session now. The run's state is then stale, and it must not write. */
  readonly lost: boolean
  /** The fault to return then. */
  readonly fault: LeaseLost
  /** Returns the head of the log when it was released; undefined if this is not known, or the lease is the application's. */
  readonly release: () => Promise<Head | undefined>
}

/** The leases acquired by runs. Leases acquired by the application are never released here. */
const runLeases = new WeakSet<SessionLease>()

/** The application's leases that a run uses now, each with the end of that run. */
const inUse = new WeakMap<SessionLease, Promise<void>>()

/** A lease that a run uses, and the function that ends the use. */
interface Borrowed {
  readonly lease: SessionLease
  readonly giveBack: () => void
}

/** Borrows the application's own lease. Undefined if it has none, or another run is still using it after `wait`. */
const borrowLease = async (session: object, wait: number, clock: Clock): Promise<Borrowed | undefined> => {
  const until = clock.now() + wait
  for (;;) {
    const lease = leaseOfSession(session)
    if (lease === undefined || !lease.held || runLeases.has(lease)) return undefined
    const other = inUse.get(lease)
    if (other === undefined) {
      let end = (): void => undefined
      inUse.set(lease, new Promise((resolve) => (end = resolve)))
      return { lease, giveBack: () => (inUse.delete(lease), end()) }
    }
    const rest = until - clock.now()
    if (rest <= 0) return undefined
    await new Promise<void>((resolve) => {
      const timer = clock.after(rest, resolve)
      void other.then(() => (timer.cancel(), resolve()))
    })
  }
}

/**
 * Acquires a session's lease for a run, or uses the application's own, one run at a time. Undefined if the session has no leases.
 *
 * @param stop called on a stop request, or when another holder took the lease
 */
export const acquireRunLease = async (
  session: Partial<Pick<Session, 'id' | 'lease'>>,
  options: RunLeaseOptions,
  stop: (reason: string, isLost: boolean) => void,
): Promise<Either<LeaseSessionFault, RunLease | undefined>> => {
  const { lease } = session
  if (lease === undefined) return right(undefined)
  const { holder = 'run', ttl = defaultTtl, whenBusy = 'fail', clock: ownClock } = ownFields(options)
  const clock = clockOf(ownClock)
  const wait = whenBusy === 'wait' ? (options.wait ?? Infinity) : 0
  const until = clock.now() + wait
  const borrowed = await borrowLease(session, wait, clock)
  const taken = borrowed
    ? right(borrowed.lease)
    : await lease({ holder, ttl, wait: Math.max(0, until - clock.now()), clock })()
  if (isLeft(taken)) return taken
  const { number, signal, release } = taken.right
  let over = false
  if (borrowed === undefined) runLeases.add(taken.right)
  const onLost = (): void => {
    const { reason } = signal
    if (isStop(reason)) stop(runStopped, false)
    else stop(runLost(reasonOf(reason)), true)
  }
  if (signal.aborted) onLost()
  else signal.addEventListener('abort', onLost)
  return right({
    number,
    fault: { _tag: 'LeaseLost', id: session.id ?? '', number },
    get lost() {
      return !over && !taken.right.held
    },
    release: async () => {
      over = true
      signal.removeEventListener('abort', onLost)
      if (borrowed !== undefined) return void borrowed.giveBack()
      const released = await release()()
      return isLeft(released) ? undefined : released.right
    },
  })
}

const isStop = (reason: unknown): boolean =>
  (reason as { readonly fault?: { readonly _tag?: unknown } } | undefined)?.fault?._tag === 'StopRequested'
