/** A session behind another framework's interface: opened on first use, created on first change. */
import { bytesToHex } from '@noble/hashes/utils.js'
import { isLeft, jsonEqual, ownFields, sortKeys, utf8Of, type Json, type JsonObject } from '../../json/index.ts'
import { foldPage, noPages, type PinNote } from '../../notes/internal.ts'
import { listMessages } from '../record/rows.ts'
import type { MessagesAndNotes, Session } from '../session.ts'
import { describeSession, openSession } from './open.ts'
import { openOrCreateSession } from './open-or-create.ts'
import { storeFaultText } from '../../store/fault.ts'
import { RecentMap } from '../../sequence/index.ts'
import type { Store } from '../../store/index.ts'
import { FaultError } from '../../task/index.ts'

/** A session behind another framework's interface. Its functions throw a `FaultError`. */
export interface AdapterSession {
  /** The session, with what other writers appended; undefined if it does not exist. */
  readonly read: () => Promise<Session | undefined>
  /**
   * Append the result of `make` in one append. If another writer appended first, `make` is called again. Changes
   * through this object run in the order of their calls. If `make` returns `undefined`, nothing changes.
   */
  readonly change: (make: (session: Session) => MessagesAndNotes | undefined) => Promise<Session>
}

/** The metadata that marks an adapter's own sessions. The adapter does not open sessions without it. */
export type SessionMark = JsonObject

/** The session `id` of a store. If the session is created here, it gets `metadata` and the mark. */
export const adapterSession = (
  store: Store,
  id: string,
  mark: SessionMark,
  metadata: JsonObject = {},
): AdapterSession => {
  const beginning = { metadata: { ...metadata, ...mark } }
  let opened: Session | undefined
  let last: Promise<unknown> = Promise.resolve()

  const openMarked = async (): Promise<Session | undefined> => {
    const found = await openSession(store, id)()
    if (!isLeft(found)) return requireMark(found.right, id, mark)
    if (found.left._tag === 'NoSuchLog') return undefined
    return openSession(store, id) // throws
  }
  const openAndRefresh = async (): Promise<Session | undefined> => {
    if (opened !== undefined) {
      const news = await opened.refresh()()
      if (!isLeft(news)) return opened
      opened = undefined // the session was removed, or another one now has its id
    }
    return (opened = await openMarked())
  }
  const openOrMake = async (): Promise<Session> => {
    return (opened ??= requireMark(await openOrCreateSession(store, id, beginning), id, mark))
  }
  const appendWithRetry = async (make: (session: Session) => MessagesAndNotes | undefined): Promise<Session> => {
    for (;;) {
      const session = await openOrMake()
      const expectedHead = session.head()
      const made = make(session)
      const together = made && withKinds(session, made)
      if (together === undefined) {
        // Nothing to change in the state known here. That must also hold for what other writers have appended.
        const now = await openAndRefresh()
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
        else if (_tag !== 'SessionConflict') throw error // after a conflict the session has the missed rows
      }
    }
  }
  const enqueue = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work, work)
    last = turn.catch(() => undefined)
    return turn
  }
  return { read: () => enqueue(openAndRefresh), change: (make) => enqueue(() => appendWithRetry(make)) }
}

/**
 * Gives messages that are retracted and appended again, because something before them changed, the page kinds and pins that
 * they had. A framework's interface has neither.
 */
const withKinds = (session: Session, change: MessagesAndNotes): MessagesAndNotes => {
  const { messages, notes = [] } = ownFields(change)
  const retractions = notes.filter((note) => note.type === 'retraction')
  if (retractions.length === 0 || messages === undefined) return change
  const { messages: again, pages } = listMessages(messages)
  if (again.length === 0) return change
  const fold = noPages()
  for (const note of session.notes()) foldPage(fold, note)
  const conversation = session.conversation()
  const retracted = new Map<string, number[]>() // the positions by text, the first one last
  for (let index = conversation.length - 1; index >= 0; index--) {
    const position = conversation.positionAt(index) as number
    if (!retractions.some(({ from, to }) => from <= position && position < to)) continue
    const text = textOf(conversation.at(index))
    retracted.set(text, [...(retracted.get(text) ?? []), position])
  }
  const pins: PinNote[] = []
  const kinds = again.map((message, index) => {
    const position = retracted.get(textOf(message))?.pop()
    if (position === undefined) return pages[index]
    if (fold.pinned.has(position)) pins.push({ type: 'pin', position: session.len + index })
    return pages[index] ?? fold.tagged.get(position) ?? session.view().pages.at(position)
  })
  return { messages: again, pages: kinds, notes: [...notes, ...pins] }
}

/** The text of a message, whatever the order of its fields. */
const textOf = (message: unknown): string => JSON.stringify(sortKeys(message as Json))

/** The number of sessions kept open: the most recently used. */
const mostOpen = 64

/** The sessions of a store. Each is opened once and then reused. */
export const adapterSessions = (store: Store): ((id: string, mark: SessionMark) => AdapterSession) => {
  const opened = new RecentMap<string, AdapterSession>(mostOpen)
  return (id, mark) => {
    const kept = opened.get(id) ?? adapterSession(store, id, mark)
    opened.set(id, kept)
    return kept
  }
}

/** Returns a session that has the mark; throws for any other. */
export const requireMark = <S extends Pick<Session, 'metadata' | 'close'>>(
  session: S,
  id: string,
  mark: SessionMark,
): S => {
  if (hasMark(session.metadata(), mark)) return session
  void session.close()()
  throw otherLog(id)
}

const hasMark = (metadata: JsonObject, mark: SessionMark): boolean =>
  Object.entries(mark).every(
    ([name, value]) => Object.hasOwn(metadata, name) && jsonEqual(metadata[name] as Json, value),
  )

const otherLog = (id: string): FaultError => {
  const fault = { _tag: 'OtherLog', id, wanted: 'a session of this adapter, for this id' } as const
  return new FaultError(fault, storeFaultText(fault))
}

/** Remove the session `id`, if it exists. Throws if it lacks the mark. */
export const removeMarked = async (store: Store, id: string, mark: SessionMark): Promise<void> => {
  const found = await describeSession(store, id)()
  if (isLeft(found)) return found.left._tag === 'NoSuchLog' ? undefined : void (await describeSession(store, id)) // throws
  if (!hasMark(found.right.metadata, mark)) throw otherLog(id)
  const gone = await store.remove(id)()
  if (isLeft(gone) && gone.left._tag !== 'NoSuchLog') await store.remove(id) // throws
}

/**
 * A log id made of arbitrary strings. Different lists get different ids. An id beyond 255 bytes is
 * replaced by its digest, after a `#` that no encoded part starts with.
 */
export const idOfParts = (parts: readonly string[], { hash }: Pick<Store, 'hash'>): string => {
  const id = parts.map(encodePart).join('/')
  if (id.length <= 255) return id
  return `${parts[0]}/#${bytesToHex(hash(utf8Of(id)))}`
}

/** Percent-encodes a part. A lone surrogate has no UTF-8 encoding, so it is written as # and its code. */
const encodePart = (part: string): string =>
  Array.from(part, (character) =>
    character.isWellFormed() ? encodeURIComponent(character) : `#${character.charCodeAt(0).toString(16)}`,
  ).join('')
