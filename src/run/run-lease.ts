/** The lease of a run: taken when it begins, given back when it ends. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right, ownFields, present } from '../json/index.ts'
import type { LeaseSessionFault, Session, SessionLease } from '../session/index.ts'
import { type Clock, reasonOf } from '../task/index.ts'

/** How a run holds its session. */
export interface RunLeaseOptions {
  /** Who holds it, for others to read. Default: `run`. */
  readonly holder?: string
  /** Milliseconds after which others may take over from a process that died. It is renewed after a third. Default: 10,000. */
  readonly ttl?: number
  /** What to do if another process holds it: `fail` with `SessionBusy`, or `wait`. Default: `fail`. */
  readonly whenBusy?: 'fail' | 'wait'
  /** Milliseconds to wait at most. Default: for ever. */
  readonly wait?: number
  /** The clock that times renewals and waits. Default: the system's. */
  readonly clock?: Clock
}

export type LeaseLost = Extract<LeaseSessionFault, { readonly _tag: 'LeaseLost' }>

/** A lease that a run holds. */
export interface RunLease {
  /** Its fencing number. */
  readonly number: number
  /** Another process has the session. The run's state is stale, and it must not write again. */
  readonly lost: boolean
  /** What is answered then. */
  readonly fault: () => Either<LeaseLost, never>
  readonly release: () => Promise<void>
}

/** Milliseconds. A process that was paused for longer finds out, and continues if nobody took over. */
export const defaultTtl = 10_000

/** The leases that runs hold: those that the application took are left to it. */
const ofRuns = new WeakSet<SessionLease>()

/**
 * Hold a session for a run; one that its handle holds already, for the application, is used. Undefined: it has no leases.
 *
 * @param stop called when somebody asks the run to stop, or when the lease is lost to somebody else
 */
export const heldBy = async (
  session: Partial<Pick<Session, 'id' | 'lease' | 'held'>>,
  options: RunLeaseOptions,
  stop: (reason: string, isLost: boolean) => void,
): Promise<Either<LeaseSessionFault, RunLease | undefined>> => {
  const { lease, held } = session
  if (lease === undefined) return right(undefined)
  const { holder = 'run', ttl = defaultTtl, whenBusy = 'fail', wait = Infinity, clock } = ownFields(options)
  const given = held?.()
  const own = given !== undefined && given.held && !ofRuns.has(given)
  const taken = own
    ? right(given)
    : await lease({ holder, ttl, wait: whenBusy === 'wait' ? wait : 0, ...present({ clock }) })()
  if (isLeft(taken)) return taken
  const { number, signal, release } = taken.right
  let over = false
  if (!own) ofRuns.add(taken.right)
  const ended = (): void => {
    if (over) return
    const { reason } = signal
    if (isStop(reason)) stop('Somebody asked the run to stop.', false)
    else stop(`The session is held by another run. ${reasonOf(reason)}`, true)
  }
  if (signal.aborted) ended()
  else signal.addEventListener('abort', ended)
  return right({
    number,
    fault: () => left({ _tag: 'LeaseLost', id: session.id ?? '', number }),
    get lost() {
      return !over && !taken.right.held
    },
    release: async () => {
      over = true
      if (!own) await release()()
    },
  })
}

const isStop = (reason: unknown): boolean =>
  (reason as { readonly fault?: { readonly _tag?: unknown } } | undefined)?.fault?._tag === 'StopRequested'
