/** The store and redactor of a session handle, for functions that receive a session. */
import { describe } from '../../json/index.ts'
import type { Redactor } from '../../redact/index.ts'
import type { Store } from '../../store/index.ts'
import type { SessionReader } from '../session.ts'

export interface OpenedWith {
  readonly store: Store
  readonly redactor: Redactor | undefined
  /** The number of rows that were erased before this handle read them. */
  readonly erased: () => number
}

const openedWith = new WeakMap<object, OpenedWith>()

/** Remember how a handle was opened, and return it. */
export const rememberStore = <S extends SessionReader>(opened: OpenedWith, session: S): S => {
  openedWith.set(session, opened)
  return session
}

/** Throws TypeError if the value is not a store, which the compiler would have rejected. */
export const checkStore = (call: string, store: Store): void => {
  const given: unknown = store
  if (typeof given === 'function' && 'then' in given)
    throw new TypeError(`${call} takes a store, found a task: await it`)
  if (typeof given !== 'object' || given === null || !('append' in given))
    throw new TypeError(`${call} takes a store, such as memoryStore(), found ${describe(given)}`)
}

/** Throws TypeError if the value is not a handle. */
export const storeOfSession = (session: SessionReader): Store => {
  const store = openedWith.get(session)?.store
  if (store === undefined) throw new TypeError('expected a session, or { store, id }')
  return store
}

/** How a handle was opened; undefined if the value is not a handle. */
export const storeAndOptionsOf = (session: object): OpenedWith | undefined => openedWith.get(session)

/** The redactor that a session was opened with, if any. */
export const redactorOf = (session: object): Redactor | undefined => openedWith.get(session)?.redactor
