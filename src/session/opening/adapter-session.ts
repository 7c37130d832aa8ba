/** One session under a foreign interface: opened at its first use, created at its first change, changed one at a time. */
import { isLeft, jsonEqual, utf8Of, type Json, type JsonObject } from '../../json/index.ts'
import { describeSession, openOrCreateSession, openSession, type Session, type Together } from '../index.ts'
import { storeFaultText } from '../../store/fault.ts'
import type { Store } from '../../store/index.ts'
import { FaultError } from '../../task/index.ts'

/** A session that a foreign interface reads and changes. Its functions throw a `FaultError`. */
export interface AdapterSession {
  /** The session, with what others have appended; undefined if there is no such session. */
  readonly read: () => Promise<Session | undefined>
  /**
   * Append what `make` says of the session as it is, in one append; asked again if another writer was quicker. Changes of
   * this object keep the order of their calls. `undefined` changes nothing.
   */
  readonly change: (make: (session: Session) => Together | undefined) => Promise<Session>
}

/** The metadata by which an adapter knows its own sessions: a session without it is another's, and is not opened. */
export type Mark = JsonObject

/** The session `id` of a store. `metadata` is that of a session which is created here, beside the mark. */
export const adapterSession = (store: Store, id: string, mark: Mark, metadata: JsonObject = {}): AdapterSession => {
  const beginning = { metadata: { ...metadata, ...mark } }
  let opened: Session | undefined
  let last: Promise<unknown> = Promise.resolve()

  const open = async (): Promise<Session | undefined> => {
    const found = await openSession(store, id)()
    if (!isLeft(found)) return requireMark(found.right, id, mark)
    if (found.left._tag === 'NoSuchLog') return undefined
    return openSession(store, id) // throws
  }
  const current = async (): Promise<Session | undefined> => {
    if (opened !== undefined) {
      const news = await opened.refresh()()
      if (!isLeft(news)) return opened
      opened = undefined // it was removed, or another one has its id
    }
    return (opened = await open())
  }
  const made = async (): Promise<Session> => {
    return (opened ??= requireMark(await openOrCreateSession(store, id, beginning), id, mark))
  }
  const once = async (make: (session: Session) => Together | undefined): Promise<Session> => {
    for (;;) {
      const session = await made()
      const expectedHead = session.head()
      const together = make(session)
      if (together === undefined) {
        // Nothing to do, as far as is known here: that must be so of what others have appended, too.
        const now = await current()
        if (now === session && session.head().size === expectedHead.size) return session
        continue
      }
      try {
        await session.append(together, { expectedHead })
        return session
      } catch (error) {
        if (!(error instanceof FaultError)) throw error
        const { _tag } = error.fault as { readonly _tag: string }
        if (_tag === 'NoSuchLog' || _tag === 'Diverged') opened = undefined
        else if (_tag !== 'SessionConflict') throw error // after a conflict the session has what was missed
      }
    }
  }
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work, work)
    last = turn.catch(() => undefined)
    return turn
  }
  return { read: () => inTurn(current), change: (make) => inTurn(() => once(make)) }
}

/** How many sessions are kept open: those that were used last. */
const mostOpen = 64

/** The sessions of a store, each opened once while it is used. */
export const adapterSessions = (store: Store): ((id: string, mark: Mark) => AdapterSession) => {
  const opened = new Map<string, AdapterSession>()
  return (id, mark) => {
    const kept = opened.get(id) ?? adapterSession(store, id, mark)
    opened.delete(id)
    opened.set(id, kept)
    const [oldest] = opened.keys()
    if (opened.size > mostOpen && oldest !== undefined) opened.delete(oldest)
    return kept
  }
}

/** The session if it has the mark; otherwise throws. */
export const requireMark = <S extends Pick<Session, 'metadata' | 'close'>>(session: S, id: string, mark: Mark): S => {
  if (hasMark(session.metadata(), mark)) return session
  void session.close()()
  throw otherLog(id)
}

const hasMark = (metadata: JsonObject, mark: Mark): boolean =>
  Object.entries(mark).every(
    ([name, value]) => Object.hasOwn(metadata, name) && jsonEqual(metadata[name] as Json, value),
  )

const otherLog = (id: string): FaultError => {
  const fault = { _tag: 'OtherLog', id, wanted: 'a session of this adapter, for this id' } as const
  return new FaultError(fault, storeFaultText(fault))
}

/** Remove the session `id`, if it is there. Throws if it is another's. */
export const removeMarked = async (store: Store, id: string, mark: Mark): Promise<void> => {
  const found = await describeSession(store, id)()
  if (isLeft(found)) return found.left._tag === 'NoSuchLog' ? undefined : void (await describeSession(store, id)) // throws
  if (!hasMark(found.right.metadata, mark)) throw otherLog(id)
  const gone = await store.remove(id)()
  if (isLeft(gone) && gone.left._tag !== 'NoSuchLog') await store.remove(id) // throws
}

/**
 * An id of a log made of parts, whatever they hold: no two lists of parts have one id. At most 255 bytes, else the digest
 * of it, behind a sign that no part has.
 */
export const idOfParts = (parts: readonly string[], { hash }: Pick<Store, 'hash'>): string => {
  const id = parts.map(encodePart).join('/')
  if (id.length <= 255) return id
  return `${parts[0]}/#${Array.from(hash(utf8Of(id)), (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

/** Half of a pair of surrogates has no UTF-8. */
const encodePart = (part: string): string =>
  Array.from(part, (character) =>
    character.isWellFormed() ? encodeURIComponent(character) : `#${character.charCodeAt(0).toString(16)}`,
  ).join('')
