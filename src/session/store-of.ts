/** The store that a session handle was opened from: for functions that take a session. */
import type { Store } from '../store/index.ts'
import type { SessionReader } from './session.ts'

const stores = new WeakMap<SessionReader, Store>()

/** Note where a handle is from, and give it. */
export const from = <S extends SessionReader>(store: Store, session: S): S => {
  stores.set(session, store)
  return session
}

/** Throws TypeError, of what is no handle. */
export const storeOfSession = (session: SessionReader): Store => {
  const store = stores.get(session)
  if (store === undefined) throw new TypeError('expected a session, or { store, id }')
  return store
}
