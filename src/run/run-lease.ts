/** The lease of a run: taken when it begins, given back when it ends, taken again where it was lost and nobody else had it. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from '../json/index.ts'
import type { LeaseSessionFault, Session, SessionLease } from '../session/index.ts'
import { reasonOf } from './fault.ts'

/** How a run holds its session. */
export interface RunLeaseOptions {
  /** Who holds it, for others to read. Default: `run`. */
  readonly holder?: string
  /** Milliseconds after which others may take over from a process that died. It is renewed after a third. Default: 10,000. */
  readonly ttl?: number
  /** What to do where somebody else holds it: `fail` with `SessionBusy`, or `wait`. Default: `fail`. */
  readonly whenBusy?: 'fail' | 'wait'
  /** Milliseconds to wait at most. Default: for ever. */
  readonly wait?: number
}

type LeaseLost = Extract<LeaseSessionFault, { readonly _tag: 'LeaseLost' }>

/** A lease that a run holds. */
export interface RunLease {
  /** Its fencing number. */
  readonly number: number
  /** Somebody else has had the session since: what the run knows is old, and it must write nothing more. */
  readonly lost: boolean
  /** What is answered then. */
  readonly fault: () => Either<LeaseLost, never>
  /** The store says that the lease of this number is lost: take it again. False: somebody else has had it since, or has it. */
  readonly regain: (number: number) => Promise<boolean>
  readonly release: () => Promise<void>
}

/** Milliseconds. A process that was paused for longer finds out, and goes on if nobody took over. */
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
  { holder = 'run', ttl = defaultTtl, whenBusy = 'fail', wait = Infinity }: RunLeaseOptions,
  stop: (reason: string) => void,
): Promise<Either<LeaseSessionFault, RunLease | undefined>> => {
  const { lease, held } = session
  if (lease === undefined) return right(undefined)
  let over = false
  let lost = false
  let regaining: Promise<boolean> | undefined
  const given = held?.()
  const own = given !== undefined && given.held && !ofRuns.has(given)
  const take = (milliseconds: number): ReturnType<ReturnType<Session['lease']>> =>
    lease({ holder, ttl, wait: milliseconds })()
  const first = own ? right(given) : await take(whenBusy === 'wait' ? wait : 0)
  if (isLeft(first)) return first
  let current = first.right

  const regain = async (number: number): Promise<boolean> => {
    if (over || own || lost) return false
    const before = current
    if (before.number > number) return true // it was taken again meanwhile
    const again = await take(0)
    if (isLeft(again)) return false
    if (again.right.number === before.number + 1) {
      watch(again.right)
      return true
    }
    // Held until the run gives it back: without a lease, the handle's appends would go through.
    current = again.right
    lost = true
    return false
  }
  const once = (number: number): Promise<boolean> =>
    (regaining ??= regain(number).finally(() => (regaining = undefined)))
  const watch = (taken: SessionLease): void => {
    current = taken
    if (!own) ofRuns.add(taken)
    const ended = async (): Promise<void> => {
      if (over || current !== taken) return
      const reason: unknown = taken.signal.reason
      if (isStop(reason)) stop('Somebody asked the run to stop.')
      else if (!(await once(taken.number))) stop(`The session is held by another run. ${reasonOf(reason)}`)
    }
    if (taken.signal.aborted) void ended()
    else taken.signal.addEventListener('abort', () => void ended())
  }
  watch(current)
  return right({
    get number() {
      return current.number
    },
    fault: () => left({ _tag: 'LeaseLost', id: session.id ?? '', number: first.right.number }),
    get lost() {
      return lost
    },
    regain: once,
    release: async () => {
      over = true
      if (!own) await current.release()()
    },
  })
}

const isStop = (reason: unknown): boolean =>
  (reason as { readonly fault?: { readonly _tag?: unknown } } | undefined)?.fault?._tag === 'StopRequested'
