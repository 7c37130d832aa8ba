/**
 * Leases: who works on a log now. A lease is stored beside the log: it is never hashed, forked,
 * copied or exported, and taking or renewing it changes neither the log nor its head.
 *
 * The rules are here, in one place. A driver reads a lease, applies the rules and writes the
 * result, in one transaction, with the time of the store's clock: the server's (PostgreSQL), the
 * machine's (SQLite), or the option's (memory).
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right, ownField } from '../../json/index.ts'
import type { StoreFault } from '../fault.ts'
import { idFault } from './id.ts'
import type { Head } from './row.ts'

/** A lease, at the time of the store's response. */
export interface Lease {
  /**
   * The fencing number: greater than that of every earlier lease of the log, and of earlier logs with its id. The first
   * one is the time in milliseconds since 1970.
   */
  readonly number: number
  /** The name of the holder. */
  readonly holder: string
  /** Milliseconds since 1970, by the store's clock. */
  readonly expires: number
  /** Milliseconds until it expires, so that no one has to compare clocks. */
  readonly remaining: number
  /** Whether another process has asked the holder to stop. */
  readonly stopRequested: boolean
}

/** A lease to take. */
export interface NewLease {
  /** The name of the holder, for people and logs: 1 to 255 bytes without control characters. It need not be unique. */
  readonly holder: string
  /** Time to live without a renewal, in milliseconds: from 1 to 2,147,483,647. */
  readonly ttl: number
}

/** A lease to renew. */
export interface Renewal {
  /** The fencing number of the lease. */
  readonly number: number
  /** The time to live from now, in milliseconds. */
  readonly ttl: number
}

/** The stored lease of a log. */
export interface LeaseRow {
  /** The fencing number of the last lease. */
  readonly number: number
  /** The name of the holder; undefined if the lease was released. */
  readonly holder: string | undefined
  /** Milliseconds since 1970. */
  readonly expires: number
  /** Whether the holder was asked to stop. */
  readonly stopRequested: boolean
}

/** A change of a lease. `look` changes nothing. */
export type LeaseChange =
  | ({ readonly type: 'take' } & NewLease)
  | ({ readonly type: 'renew' } & Renewal)
  | {
      readonly type: 'release'
      /** The fencing number of the lease. */
      readonly number: number
    }
  | { readonly type: 'stop' }
  | { readonly type: 'look' }

/** The result of changing a lease. */
export interface LeaseOutcome {
  /** The row to store; undefined if nothing changes. */
  readonly row: LeaseRow | undefined
  /** The lease after the change; undefined if there is none. */
  readonly lease: Lease | undefined
}

/** A driver's answer to a change of a lease. */
export interface LeaseAnswer {
  /** The lease after the change; undefined if there is none. */
  readonly lease: Lease | undefined
  /**
   * The head of the log after the change. It includes every append that the store has accepted under an earlier lease, and
   * after a release every append that was committed before it.
   */
  readonly head: Head
}

/** The lease of an append, a metadata update or an erasure. The store checks it in the same transaction. */
export interface LeaseClaim {
  /** The lease for the change. The fault is `LeaseLost` if it was released, or if another one was taken since. */
  readonly lease?: { readonly number: number } | undefined
  /** For a change without a lease: fail with `LeaseHeld` if another holder has one. Default: false. */
  readonly respectLease?: boolean
}

/**
 * Whether a lease has this number and was not released. It may have expired: until another process takes
 * the next one, its holder's knowledge is up to date, so a pause, a slow store or a wrong clock do no harm.
 */
const isOf = (row: LeaseRow | undefined, number: number): row is LeaseRow =>
  row?.number === number && row.holder !== undefined

/** The lease, if no one else may take it: neither released nor expired. */
const liveLease = (row: LeaseRow | undefined, now: number): Lease | undefined =>
  row?.holder === undefined || row.expires <= now
    ? undefined
    : Object.freeze({
        number: row.number,
        holder: row.holder,
        expires: row.expires,
        remaining: row.expires - now,
        stopRequested: row.stopRequested,
      })

/**
 * The number of the next lease. A log's first one is the time: if a log is removed and another one gets its id, the
 * numbers of the first log are not used again, and its holder can neither renew nor release the lease of the other one.
 */
const nextNumber = (row: LeaseRow | undefined, now: number, latest: number): number =>
  row !== undefined && row.number > 0 ? row.number + 1 : Math.max(now, latest + 1)

/**
 * Compute a change to a log's lease at a time of the store's clock.
 *
 * @param row the stored lease; undefined if there is none
 * @param now milliseconds since 1970
 * @param latest the largest number that the driver has given to a lease, for logs removed in the same millisecond. Default: 0
 * @returns the row to store, and the lease; or `LeaseHeld`, `LeaseLost`, `InvalidLease`
 */
export const changeLease = (
  id: string,
  row: LeaseRow | undefined,
  change: LeaseChange,
  now: number,
  latest = 0,
): Either<StoreFault, LeaseOutcome> => {
  const held = liveLease(row, now)
  const stored = (next: LeaseRow): Either<StoreFault, LeaseOutcome> => right({ row: next, lease: liveLease(next, now) })
  switch (change.type) {
    case 'look':
      return right({ row: undefined, lease: held })
    case 'take': {
      if (held !== undefined) return left(leaseHeld(id, held))
      const { holder, ttl } = change
      return stored({ number: nextNumber(row, now, latest), holder, expires: now + ttl, stopRequested: false })
    }
    case 'renew':
      if (!isOf(row, change.number)) return left(leaseLost(id, change.number))
      return stored({ ...row, expires: now + change.ttl })
    case 'release':
      if (!isOf(row, change.number)) return right({ row: undefined, lease: held })
      return stored({ ...row, holder: undefined })
    case 'stop':
      return held === undefined ? right({ row: undefined, lease: undefined }) : stored({ ...held, stopRequested: true })
  }
}

/**
 * Checks a change against the log's lease.
 *
 * @param row the stored lease; undefined if there is none
 * @param claim the lease of the change
 * @param now milliseconds since 1970
 * @returns the fault; undefined if the change is allowed
 */
export const claimFault = (
  id: string,
  row: LeaseRow | undefined,
  { lease, respectLease = false }: LeaseClaim,
  now: number,
): StoreFault | undefined => {
  if (lease !== undefined) return isOf(row, lease.number) ? undefined : leaseLost(id, lease.number)
  const held = liveLease(row, now)
  return respectLease && held !== undefined ? leaseHeld(id, held) : undefined
}

/** Whether a change has to check the lease. */
export const claims = ({ lease, respectLease }: LeaseClaim): boolean => lease !== undefined || respectLease === true

/** A copy of the claim in a call's options. */
export const claimIn = (options: LeaseClaim): LeaseClaim => {
  const lease = ownField(options, 'lease')
  return {
    lease: lease === undefined ? undefined : { number: lease.number },
    respectLease: ownField(options, 'respectLease') === true,
  }
}

/** The fault for an invalid lease request; undefined if it is valid. */
export const invalidLease = ({ holder, ttl }: NewLease): StoreFault | undefined => {
  const reason = idFault(holder)
  return reason === undefined
    ? invalidTtl(ttl)
    : { _tag: 'InvalidLease', reason: `the name of its holder is invalid: ${reason}` }
}

/** The fault for an invalid time to live; undefined if it is valid. */
export const invalidTtl = (ttl: unknown): StoreFault | undefined => {
  if (typeof ttl === 'number' && Number.isInteger(ttl) && ttl >= 1 && ttl < 2 ** 31) return undefined
  return {
    _tag: 'InvalidLease',
    reason: `its ttl is ${String(ttl)}; expected whole milliseconds from 1 to 2,147,483,647`,
  }
}

const leaseHeld = (id: string, { holder, expires, remaining }: Lease): StoreFault => ({
  _tag: 'LeaseHeld',
  id,
  holder,
  expires,
  remaining,
})

const leaseLost = (id: string, number: number): StoreFault => ({ _tag: 'LeaseLost', id, number })
