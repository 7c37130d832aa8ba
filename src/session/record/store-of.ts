/** What a session handle was made of, for functions that receive a session. */
import type { Either } from 'fp-ts/lib/Either.js'
import { describe } from '../../json/index.ts'
import type { Redactor } from '../../redact/index.ts'
import type { Store } from '../../store/index.ts'
import type { SessionFaultOf } from '../fault.ts'
import type { SessionLease, SessionReader } from '../session.ts'
import type { Mirror } from './mirror.ts'

export interface SessionParts {
  readonly store: Store
  readonly mirror: Mirror
  /** Undefined if the handle can't append. */
  readonly open?: OpenParts
}

/** What only an open session has. */
interface OpenParts {
  /** The store, with the handle's lease added to everything that it writes. */
  readonly store: Store
  /** Runs work after all earlier calls of the handle, and before all later ones. */
  readonly alone: <F, T>(work: () => Promise<Either<F, T>>) => Promise<Either<F | SessionFaultOf<'SessionClosed'>, T>>
  /** The last lease that the handle took and has not released. */
  readonly lease: () => SessionLease | undefined
}

const parts = new WeakMap<object, SessionParts>()

/** Remember what a handle was made of, and return it. */
export const rememberParts = <S extends SessionReader>(session: S, made: SessionParts): S => {
  parts.set(session, made)
  return session
}

/** What a handle was made of; undefined if the value is not a handle. */
export const partsOf = (session: object): SessionParts | undefined => parts.get(session)

/** Throws TypeError if the value is not a store, which the compiler would have rejected. */
export const checkStore = (call: string, store: Store): void => {
  const given: unknown = store
  if (typeof given !== 'object' || given === null || !('append' in given))
    throw new TypeError(`${call} takes a store, such as memoryStore(), found ${describe(given)}`)
}

/** Throws TypeError if the value is not a handle. */
export const storeOfSession = (session: SessionReader): Store => {
  const made = parts.get(session)
  if (made === undefined) throw new TypeError('expected a session, or { store, id }')
  return made.store
}

/** The redactor that a session was opened with, if any. */
export const redactorOf = (session: object): Redactor | undefined => parts.get(session)?.mirror.redactor

/** The last lease that a handle took and has not released. It may be lost by now: see its `held`. */
export const leaseOfSession = (session: object): SessionLease | undefined => parts.get(session)?.open?.lease()
