/** The lease of a session: takes it, renews it while it is held, and adds its number to every append. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from '../../json/index.ts'
import {
  amount,
  FaultError,
  createAbort,
  clockOf,
  type Clock,
  type Signal,
  type Task,
  type Timer,
} from '../../task/index.ts'
import type { Head, LogFault, Store, StoreFault, StoreFaultOf } from '../../store/index.ts'
import { appendPlanned, definePlannedAppend, storeTask, type LeaseFault } from '../../store/internal.ts'
import {
  busyOf,
  sessionFaultText,
  sessionTask,
  type LeaseSessionFault,
  type RefreshFault,
  type SessionFault,
  type SessionFaultOf,
} from '../fault.ts'
import { guardStore } from './guard-store.ts'
import type { LeaseOptions, SessionLease } from '../session.ts'
import { leaseStep, type LeaseCommand, type LeaseEvent, type LeaseState } from './lease-machine.ts'

/** The leases of one handle. */
interface Holding {
  /** The store, with the lease added to appends, updates and erasures. */
  readonly store: Store
  /** @param refresh reads the previous holder's rows, up to the head of the log; if it fails, the lease is released */
  readonly take: (
    options: LeaseOptions,
    refresh: (head: Head) => Promise<Either<RefreshFault, unknown>>,
  ) => Task<LeaseSessionFault, SessionLease>
  readonly release: () => Promise<void>
  /** The last lease taken, unless it was released. */
  readonly held: () => SessionLease | undefined
}

/** @param ended called with a number once no lease up to that number is held */
export const createHolding = (store: Store, id: string, ended: (number: number) => void): Holding => {
  let claims: readonly Claim[] = []
  const drop = (claim: Claim): void => void (claims = claims.filter((other) => other !== claim))
  let current: Claim | undefined
  let given: SessionLease | undefined
  let closed = false
  /** Runs a change under the lease held at the time of the call. */
  const fenced = <F extends StoreFault, T>(
    call: (lease: { readonly number: number } | undefined) => Promise<Either<F, T>>,
  ): Promise<Either<F, T>> => {
    const claim = current
    return claim === undefined ? call(undefined) : underClaim(claim, call)
  }
  const withFence = <F extends StoreFault, T>(
    change: string,
    call: (lease: { readonly number: number } | undefined) => Task<F, T>,
  ): Task<F, T> => (current === undefined ? call(undefined) : storeTask(() => fenced((lease) => call(lease)()), change))
  const carrying: Store = Object.freeze<Store>({
    ...store,
    append: (log, append) =>
      withFence('store.append', (lease) => store.append(log, lease === undefined ? append : { ...append, lease })),
    update: (log, update) =>
      withFence('store.update', (lease) => store.update(log, lease === undefined ? update : { ...update, lease })),
    erase: (request) =>
      withFence('store.erase', (lease) => {
        if (lease === undefined) return store.erase(request)
        return store.erase({ ...request, logs: request.logs.map((log) => (log.id === id ? { ...log, lease } : log)) })
      }),
  })
  definePlannedAppend(carrying, (log, append) =>
    fenced((lease) => appendPlanned(store, log, lease === undefined ? append : { ...append, lease })),
  )
  const release = async (claim: Claim): Promise<Either<LogFault, Head | undefined>> => {
    const released = await claim.release()
    drop(claim)
    if (current === claim) current = given = undefined
    ended(claim.number)
    return released
  }
  return {
    store: carrying,
    take: (options, refresh) => {
      amount('wait', options.wait ?? 0, { unit: 'milliseconds' })
      clockOf(options.clock)
      return sessionTask(async () => {
        const claim = new Claim(store, id, options)
        claims = [...claims, claim]
        const taken = await claim.take()
        if (closed && !isLeft(taken)) await claim.release()
        if (isLeft(taken) || closed) drop(claim)
        if (closed) return left({ _tag: 'SessionClosed', id })
        if (isLeft(taken)) return taken
        current?.end()
        current = claim
        given = undefined
        ended(claim.number - 1)
        const refreshed = await refresh(taken.right)
        if (isLeft(refreshed)) {
          await release(claim)
          return refreshed
        }
        const { number } = claim
        return right(
          (given = Object.freeze<SessionLease>({
            number,
            holder: options.holder,
            get held() {
              return claim.held
            },
            signal: claim.signal,
            release: () => sessionTask(() => release(claim), 'lease.release'),
          })),
        )
      }, 'session.lease')
    },
    held: () => given,
    release: async () => {
      closed = true
      await Promise.all(claims.map((claim) => claim.release())) // a lease that can't be released expires
      if (current !== undefined) ended(current.number)
      current = given = undefined
    },
  }
}

/** Runs a change under a claim, and ends the claim if the store reports it lost. */
const underClaim = async <F extends StoreFault, T>(
  claim: Claim,
  call: (lease: { readonly number: number } | undefined) => Promise<Either<F, T>>,
): Promise<Either<F, T>> => {
  const answer = await call({ number: claim.number })
  if (!isLeft(answer) || answer.left._tag !== 'LeaseLost') return answer
  if (claim.isGivenBack) return call(undefined) // this handle's own release reached the store first
  claim.lose(answer.left)
  return answer
}

/** In milliseconds. A process that was paused longer detects it, and continues if nobody took over. */
export const defaultTtl = 10_000

/** The pause between two attempts while another holder has the lease, in milliseconds: the first, and the longest. */
const firstRetryMs = 10
const longestRetryMs = 250

type TakeFault = Exclude<LeaseFault, StoreFaultOf<'LeaseHeld'>> | SessionFaultOf<'SessionBusy'>

/** One claim to the lease, from request to release. `lease-machine.ts` has its states. */
class Claim {
  readonly #store: Store
  readonly #id: string
  readonly #options: LeaseOptions
  readonly #ttl: number
  readonly #clock: Clock
  readonly #abort = createAbort()
  #state: LeaseState = 'free'
  #number = 0
  #timer: Timer | undefined
  /** Whether this handle has begun to release the lease: the store's answer may be lost. */
  isGivenBack = false
  /** Ends a pause between attempts. */
  #wake: () => void = () => undefined

  constructor(store: Store, id: string, options: LeaseOptions) {
    this.#store = store
    this.#id = id
    this.#options = options
    this.#ttl = options.ttl ?? defaultTtl
    this.#clock = clockOf(options.clock)
  }

  get number(): number {
    return this.#number
  }

  get held(): boolean {
    return this.#state === 'ours'
  }

  get signal(): Signal {
    return this.#abort.signal
  }

  #on(event: LeaseEvent): LeaseCommand {
    const [state, command] = leaseStep(this.#state, event)
    this.#state = state
    return command
  }

  /** Returns the head of the log when the lease was taken. */
  async take(): Promise<Either<TakeFault, Head>> {
    const { holder, wait = 0 } = this.#options
    const until = this.#clock.now() + wait
    this.#on('wanted')
    for (let pause = firstRetryMs; ; pause = Math.min(pause * 2, longestRetryMs)) {
      const answer = await guardStore('lease', () => this.#store.lease(this.#id, { holder, ttl: this.#ttl })())
      if (!isLeft(answer)) {
        this.#number = answer.right.number
        if (this.#on('granted') === 'release') await this.#give()
        else this.#renewIn(this.#ttl / 3)
        return right(answer.right.head)
      }
      const { left: fault } = answer
      if (fault._tag !== 'LeaseHeld') {
        this.#on('failed')
        return left(fault)
      }
      const rest = until - this.#clock.now()
      if (this.#on('refused') !== 'wait' || rest <= 0) {
        this.#on('failed')
        return left(busyOf(fault))
      }
      // Random, so that waiters don't all retry at the same moment.
      await this.#pause(Math.min(pause * (0.5 + Math.random()), fault.remaining + 1, rest))
    }
  }

  #pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#clock.after(milliseconds, resolve)
      this.#wake = () => {
        timer.cancel()
        resolve()
      }
    })
  }

  /** Release the lease. A pending take is released once it is granted. Returns the head of the log, if it was held. */
  async release(): Promise<Either<LogFault, Head | undefined>> {
    const command = this.#on('unwanted')
    this.#wake()
    this.#timer?.cancel()
    return command === 'release' ? this.#give() : right(undefined)
  }

  async #give(): Promise<Either<LogFault, Head>> {
    this.isGivenBack = true
    const released = await guardStore('release', () => this.#store.release(this.#id, this.#number)())
    this.#on('gone')
    return released
  }

  /** Ends the claim when another lease of the same handle replaces it. */
  end(): void {
    this.#timer?.cancel()
    this.#on('unwanted')
    this.#on('gone')
  }

  lose(fault: StoreFault): void {
    this.#timer?.cancel()
    if (this.#on('lost') === 'tell') this.#tell(fault)
  }

  #tell(fault: SessionFault | StoreFault): void {
    this.#abort.abort(new FaultError(fault, sessionFaultText(fault)))
  }

  #renewIn(milliseconds: number): void {
    this.#timer = this.#clock.after(milliseconds, () => void this.#renew(), { keeps: false })
  }

  async #renew(): Promise<void> {
    const answer = await guardStore('renew', () =>
      this.#store.renew(this.#id, { number: this.#number, ttl: this.#ttl })(),
    )
    if (isLeft(answer)) {
      if (answer.left._tag !== 'Io' && answer.left._tag !== 'Busy') return this.lose(answer.left)
      if (this.#on('silent') === 'renewSoon') this.#renewIn(this.#ttl / 10)
      return
    }
    const { stopRequested } = answer.right
    if (this.#on('renewed') !== 'renewLater') return
    if (stopRequested && !this.signal.aborted && this.#on('stopAsked') === 'tell')
      this.#tell({ _tag: 'StopRequested', id: this.#id })
    this.#renewIn(this.#ttl / 3)
  }
}
