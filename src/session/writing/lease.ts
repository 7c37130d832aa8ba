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
import type { EraseRequest, Head, LogFault, Store, StoreFault, StoreFaultOf } from '../../store/index.ts'
import {
  appendPlanned,
  definePlannedAppend,
  storeTask,
  type LeaseClaim,
  type LeaseFault,
} from '../../store/internal.ts'
import {
  busyOf,
  sessionFaultText,
  sessionTask,
  type LeaseSessionFault,
  type RefreshFault,
  type SessionFault,
  type SessionFaultOf,
} from '../fault.ts'
import type { LoadedRecord } from '../record/loaded-record.ts'
import type { WrittenStore } from '../record/store-of.ts'
import { guardStore } from './guard-store.ts'
import type { LeaseOptions, SessionLease } from '../session.ts'
import { leaseStep, type LeaseCommand, type LeaseEvent, type LeaseState } from './lease-machine.ts'

const noClaims: readonly never[] = Object.freeze([])

/** The leases of one handle. Most handles take none, so until then there is nothing but the store. */
export class Leases implements WrittenStore {
  readonly #plain: Store
  readonly #record: LoadedRecord
  #fenced: Store | undefined
  #claims: readonly Claim[] = noClaims
  #current: Claim | undefined
  #lease: SessionLease | undefined
  #closed = false
  /** The store; while the handle has a lease, with that lease added to appends, updates and erasures. */
  store: Store

  constructor(store: Store, record: LoadedRecord) {
    this.store = this.#plain = store
    this.#record = record
  }

  /** The last lease taken, unless it was released. */
  get lease(): SessionLease | undefined {
    return this.#lease
  }

  /** @param claim undefined if the handle has no lease any more */
  #use(claim: Claim | undefined): void {
    this.#current = claim
    this.#lease = undefined
    this.store = claim === undefined ? this.#plain : (this.#fenced ??= this.#fence())
  }

  #fence(): Store {
    const store = this.#plain
    const fenced: Store = Object.freeze<Store>({
      ...store,
      append: (log, append) =>
        storeTask(() => this.#under((lease) => store.append(log, withLease(append, lease))()), 'store.append'),
      update: (log, update) =>
        storeTask(() => this.#under((lease) => store.update(log, withLease(update, lease))()), 'store.update'),
      erase: (request) => {
        const fencedLogs = (lease: LeaseClaim['lease']): EraseRequest['logs'] =>
          request.logs.map((log) => (log.id === this.#record.id ? withLease(log, lease) : log))
        return storeTask(
          () => this.#under((lease) => store.erase({ ...request, logs: fencedLogs(lease) })()),
          'store.erase',
        )
      },
    })
    definePlannedAppend(fenced, (log, append) =>
      this.#under((lease) => appendPlanned(store, log, withLease(append, lease))),
    )
    return fenced
  }

  /** Runs a change under the lease held at the time of the call, and ends the lease if the store reports it lost. */
  async #under<F extends StoreFault, T>(
    call: (lease: LeaseClaim['lease']) => Promise<Either<F, T>>,
  ): Promise<Either<F, T>> {
    const claim = this.#current
    if (claim === undefined) return call(undefined)
    const answer = await call({ number: claim.number })
    if (!isLeft(answer) || answer.left._tag !== 'LeaseLost') return answer
    if (claim.isGivenBack) return call(undefined) // this handle's own release reached the store first
    claim.lose(answer.left)
    return answer
  }

  #drop(claim: Claim): void {
    this.#claims = this.#claims.filter((other) => other !== claim)
  }

  /** Nothing up to this lease's number is held any more. */
  #ended(number: number): void {
    this.#record.endedLeases = Math.max(this.#record.endedLeases, number)
  }

  async #release(claim: Claim): Promise<Either<LogFault, Head | undefined>> {
    const released = await claim.release()
    this.#drop(claim)
    if (this.#current === claim) this.#use(undefined)
    this.#ended(claim.number)
    return released
  }

  /** @param refresh reads the previous holder's rows, up to the head of the log; if it fails, the lease is released */
  take(
    options: LeaseOptions,
    refresh: (head: Head) => Promise<Either<RefreshFault, unknown>>,
  ): Task<LeaseSessionFault, SessionLease> {
    amount('wait', options.wait ?? 0, { unit: 'milliseconds' })
    clockOf(options.clock)
    return sessionTask(async () => {
      const { id } = this.#record
      const claim = new Claim(this.#plain, id, options)
      this.#claims = [...this.#claims, claim]
      const taken = await claim.take()
      if (this.#closed && !isLeft(taken)) await claim.release()
      if (isLeft(taken) || this.#closed) this.#drop(claim)
      if (this.#closed) return left({ _tag: 'SessionClosed', id })
      if (isLeft(taken)) return taken
      this.#current?.end()
      this.#use(claim)
      this.#ended(claim.number - 1)
      const refreshed = await refresh(taken.right)
      if (isLeft(refreshed)) {
        await this.#release(claim)
        return refreshed
      }
      this.#lease = Object.freeze<SessionLease>({
        number: claim.number,
        holder: options.holder,
        get held() {
          return claim.held
        },
        signal: claim.signal,
        release: () => sessionTask(() => this.#release(claim), 'lease.release'),
      })
      return right(this.#lease)
    }, 'session.lease')
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all(this.#claims.map((claim) => claim.release())) // a lease that can't be released expires
    if (this.#current !== undefined) this.#ended(this.#current.number)
    this.#use(undefined)
  }
}

const withLease = <C extends LeaseClaim>(change: C, lease: LeaseClaim['lease']): C =>
  lease === undefined ? change : { ...change, lease }

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
