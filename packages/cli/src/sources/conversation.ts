/** The conversation that a command's argument names: in a file or a session. */
import { existsSync, statSync } from 'node:fs'
import { FaultError } from 'indelible'
import { isLeft } from 'indelible/internal/json'
import { createHistory, omitRanges, omittedRanges } from 'indelible/history'
import { user, type Message, type Sequence } from 'indelible/message'
import type { Note } from 'indelible/internal/notes'
import {
  describeSession,
  openSession,
  readRange,
  readSession,
  type ReadonlySession,
  type SealedSession,
  type Session,
} from 'indelible/session'
import type { Lease, Store } from 'indelible/store'
import { Unreadable, type Call, type Terminal } from '../terminal/command.ts'
import { claudeAgentText, placeText } from '@indelible/view/internal'
import { readConversation, viewWithPages, type Conversation } from './input.ts'
import { valueOrUnreadable, faultText, withStore } from './place.ts'
import { damagedMessages, type DamagedMessages } from '../terminal/damaged.ts'
import { countText } from '../terminal/screen.ts'
import { findSessionId, latestSession } from './sessions.ts'
import { fileOfStore } from './store.ts'
import type { DamagedRow } from 'indelible/internal/session'

export interface NamedConversation extends Conversation {
  /** The session; undefined for a file. It reads from memory, because its store is closed. */
  readonly session?: Session | ReadonlySession | SealedSession
  /** The lease of the process working on it. */
  readonly lease?: Lease | undefined
  /** Its notes; empty for a file. */
  readonly notes?: Sequence<Note>
  /** Its damaged messages; the view has a placeholder for each. */
  readonly damaged?: DamagedMessages
}

/**
 * An existing file comes first, unless `--store` or `--scope` asks for a session. Other names are
 * sessions. A name that looks like a file name is first looked up as a session, if there is a store.
 */
export const namedConversation = (name: string | undefined, call: Call): Promise<NamedConversation> =>
  name !== undefined && isFile(name, call)
    ? readConversation(name, call.values, call.terminal)
    : withStore(call, {}, async (store) => storedConversation(store, await sessionIn(store, name, call), call))

/** The same for display, all or one message. If a fork's shared messages can't be read, only its own are shown. */
export const readableConversation = (
  name: string | undefined,
  call: Call,
  position?: number,
): Promise<NamedConversation> =>
  name !== undefined && isFile(name, call)
    ? namedConversation(name, call)
    : withStore(call, {}, async (store) => {
        const id = await sessionIn(store, name, call)
        return (await ownMessagesOfFork(store, id, call, position)) ?? storedConversation(store, id, call)
      })

/** The messages that an encrypted fork does not share, if the shared ones can't be read. */
const ownMessagesOfFork = async (
  store: Store,
  id: string,
  { terminal }: Call,
  position: number | undefined,
): Promise<NamedConversation | undefined> => {
  const info = await describeSession(store, id)()
  if (isLeft(info) || !info.right.encrypted || info.right.forkedFrom === undefined) return undefined
  const { len, forkedFrom } = info.right
  const { at } = forkedFrom
  if (position !== undefined && (position < 0 ? len + position : position) < at) return undefined
  const shared = await readRange(store, id, 0, 1)()
  const own = isLeft(shared) && shared.left._tag === 'NoKey' ? await readRange(store, id, at)() : undefined
  if (own === undefined || isLeft(own)) return undefined
  const { view, times } = own.right
  const history = createHistory<Message>()
  for (let before = 0; before < at; before++) history.append(user('')) // placeholders: the others keep their positions
  for (const message of view) history.append(message)
  terminal.tell([
    `${id}: its first ${countText(at, 'message')} can't be read: ${isLeft(shared) ? faultText(shared.left) : ''}`,
  ])
  return {
    view: position === undefined ? omitRanges(history.view(), [{ from: 0, to: at }]) : history.view(),
    left: [],
    timeOf: (place) => times[place - at],
    title: `${id}: session, ${countText(len, 'message')}; the first ${at}, shared with ${forkedFrom.id}, can't be read`,
  }
}

/** Whether a name means a file: the file exists, or no store could have a session of that name. */
export const isFile = (path: string, { values, terminal }: Call): boolean => {
  if (values['store'] !== undefined || values['scope'] !== undefined) return false
  if (path === '-' || isThere(path, terminal)) return true
  const store = fileOfStore(values, terminal)
  return store !== undefined && !existsSync(store)
}

/** Whether a file or a pipe exists. A folder does not count. */
export const isThere = (path: string, terminal: Terminal): boolean => isFolder(path, terminal) === false

/** Undefined if the path does not exist. */
const isFolder = (path: string, terminal: Terminal): boolean | undefined => {
  try {
    return statSync(terminal.path(path)).isDirectory()
  } catch {
    return undefined // it can't be read as a file
  }
}

/** The session that a name means, or the latest one. Throws Unreadable; if the name looks like a file name, the error mentions both. */
export const sessionIn = async (
  store: Store,
  name: string | undefined,
  { values, terminal }: Call,
): Promise<string> => {
  if (name === undefined) return latestSession(store, terminal)
  try {
    return await findSessionId(store, name)
  } catch (error) {
    if (!(error instanceof Unreadable) || values['store'] !== undefined) throw error
    throw isFolder(name, terminal) === true
      ? new Unreadable(`${name}: is a folder; expected a file; ${error.message}`)
      : /\.\w+$|[/\\]/.test(name)
        ? new Unreadable(`${name}: does not exist as a file, and ${error.message}`)
        : error
  }
}

/** A session with the open work of its runs; if it is sealed or damaged, as far as it can be read. */
const sessionOf = async (store: Store, id: string): Promise<Session | ReadonlySession | SealedSession> => {
  const opened = await openSession(store, id)()
  if (isLeft(opened)) {
    const { _tag } = opened.left
    return _tag === 'SessionSealed' || _tag === 'DamagedLog'
      ? valueOrUnreadable(readSession(store, id))
      : valueOrUnreadable(async () => opened)
  }
  try {
    opened.right.view().toArray()
    return opened.right
  } catch (error) {
    if (error instanceof FaultError) return valueOrUnreadable(readSession(store, id)) // a message of another program that is none
    throw error
  }
}

/** The conversation of a session, or with `--all` its whole record, with the page kinds from its notes. */
export const storedConversation = async (
  store: Store,
  id: string,
  { values, terminal }: Call,
): Promise<NamedConversation> => {
  const session = await terminal.waiting(`reading ${id}`, () => sessionOf(store, id))
  const damaged = session.state === 'open' ? [] : session.damaged
  terminal.tellDamage(damageLines(id, damaged))
  const claudeAgent = claudeAgentText({ metadata: session.metadata(), len: session.len })
  if (claudeAgent !== undefined) terminal.tell([`${id}: ${claudeAgent}`])
  const { pages, rows } = session.at()
  const times: number[] = []
  for (const row of rows()) if (row.kind === 'entry') times.push(row.at)
  const notes = session.notes()
  const [record, retracted] = [viewWithPages(session.view(), pages), session.len - session.conversation().length]
  const left = omittedRanges(session.conversation())
  return {
    session,
    lease: session.state === 'open' ? await valueOrUnreadable(store.leaseOf(id)) : undefined,
    left,
    view: values['all'] === true ? record : omitRanges(record, left),
    notes,
    damaged: damagedMessages(damaged),
    timeOf: (position) => times[position],
    title: `${id}: ${session.state === 'sealed' ? 'sealed session' : 'session'}, ${countText(session.len, 'message')}${retracted === 0 ? '' : `, ${retracted} of them retracted`}${notesText(notes)}`,
  }
}

/** The notes of a session by their number: they have rows beside the messages. */
const notesText = (notes: Sequence<Note>): string => {
  const calls = Array.from(notes).filter(({ type }) => type === 'receipt').length
  return notes.length === 0
    ? ''
    : `, ${countText(notes.length, 'note')}${calls === 0 ? '' : ` (${calls} of them ${calls === 1 ? 'a call record' : 'call records'})`}`
}

/** Reports which messages and notes of a session were changed. */
export const damageLines = (id: string, damaged: readonly DamagedRow[]): readonly string[] =>
  damaged.map((row) => `${id}: ${placeText(row)} is damaged: ${row.reason}`)
