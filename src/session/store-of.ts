/** The store that a session handle was opened from: for functions that take a session. */
import { describe } from '../json/index.ts'
import type { Store } from '../store/index.ts'
import type { SessionReader } from './session.ts'

const stores = new WeakMap<SessionReader, Store>()

/** Note where a handle is from, and give it. */
export const from = <S extends SessionReader>(store: Store, session: S): S => {
  stores.set(session, store)
  return session
}

/** Throws TypeError, where no store was given: a mistake in the program that types would have found. */
export const checkStore = (call: string, store: Store): void => {
  const given: unknown = store
  if (typeof given === 'function' && 'then' in given)
    throw new TypeError(`${call} takes a store, found a task: await it`)
  if (typeof given !== 'object' || given === null || !('append' in given))
    throw new TypeError(`${call} takes a store, such as memoryStore(), found ${describe(given)}`)
}

/** Throws TypeError, of what is no handle. */
export const storeOfSession = (session: SessionReader): Store => {
  const store = stores.get(session)
  if (store === undefined) throw new TypeError('expected a session, or { store, id }')
  return store
}
