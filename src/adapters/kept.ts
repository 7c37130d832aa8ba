/** One session under a foreign interface: opened at its first use, created at its first change, changed one at a time. */
import { isLeft, utf8Of, type JsonObject } from '../json/index.ts'
import { createSession, openSession, type Session, type Together } from '../session/index.ts'
import type { Store } from '../store/index.ts'
import { FaultError } from '../task/index.ts'

/** A session that a foreign interface reads and changes. Its functions throw a `FaultError`. */
export interface KeptSession {
  /** The session with everything that others have appended, too; undefined if there is none. */
  readonly read: () => Promise<Session | undefined>
  /**
   * Append what `make` says of the session as it is, in one append; asked again if another writer was quicker. Changes of
   * this object keep the order of their calls. `undefined` changes nothing.
   */
  readonly change: (make: (session: Session) => Together | undefined) => Promise<Session>
}

/** The session `id` of a store. `metadata` is that of a session which is created here. */
export const keptSession = (store: Store, id: string, metadata: JsonObject): KeptSession => {
  let opened: Session | undefined
  let last: Promise<unknown> = Promise.resolve()

  const open = async (): Promise<Session | undefined> => {
    const found = await openSession(store, id)()
    if (!isLeft(found)) return found.right
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
    if (opened !== undefined) return opened
    const found = await open()
    if (found !== undefined) return (opened = found)
    const created = await createSession(store, { id, metadata })()
    if (!isLeft(created)) return (opened = created.right)
    if (created.left._tag === 'LogExists') return made() // somebody else was quicker
    return createSession(store, { id, metadata }) // throws
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
export const keptSessions = (store: Store): ((id: string, metadata: JsonObject) => KeptSession) => {
  const opened = new Map<string, KeptSession>()
  return (id, metadata) => {
    const kept = opened.get(id) ?? keptSession(store, id, metadata)
    opened.delete(id)
    opened.set(id, kept)
    const [oldest] = opened.keys()
    if (opened.size > mostOpen && oldest !== undefined) opened.delete(oldest)
    return kept
  }
}

/** An id of a log made of parts, whatever they hold: at most 255 bytes, else the digest of it. */
export const idOfParts = (parts: readonly string[], { hash }: Pick<Store, 'hash'>): string => {
  const id = parts.map((part) => encodeURIComponent(part.toWellFormed())).join('/')
  if (id.length <= 255) return id
  return `${parts[0]}/${Array.from(hash(utf8Of(id)), (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
