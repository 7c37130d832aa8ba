/** Appends the new messages of a conversation that continues in another program to its session. */
import { isLeft, isObject, type Json, jsonEqual, type JsonObject } from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import { rangeDigest, type Note } from 'indelible/internal/notes'
import { forkSession, openSession, type Session } from 'indelible/session'
import type { Store } from 'indelible/store'
import { exportOf, importTranscript, type Transcript } from '@indelible/transcripts'
import { faultMessage } from 'indelible'
import { Unreadable } from '../terminal/command.ts'
import { valueOrUnreadable, unreadableOf } from '../sources/place.ts'

/** The id of a conversation in its source. A sub-agent's file has its parent session's id, and its own beside it. */
export const sessionIdOf = ({ origin: { id, metadata } }: Transcript): string | undefined =>
  id !== undefined && typeof metadata['agentId'] === 'string' ? `${id}.agent-${metadata['agentId']}` : id

export interface ImportResult {
  readonly id: string
  readonly done: 'stored' | 'continued' | 'branched' | 'unchanged'
  readonly messages: number
  readonly len: number
}

/**
 * Bring the session of a conversation up to date. The operation name of an append is derived from
 * its messages, so two concurrent imports, or one that was interrupted, append them once.
 *
 * A record is never rewritten: if the conversation has changed since, because its user went back, a
 * fork continues from the last shared message, under the id with a number.
 */
export const importNew = async (
  store: Store,
  id: string,
  transcript: Transcript,
  origin: { readonly [key: string]: Json },
): Promise<ImportResult> => {
  const { messages } = transcript
  let best: { readonly id: string; readonly shared: number } | undefined
  for (let number = 1; ; number++) {
    const name = number === 1 ? id : `${id}-${number}`
    const found = await store.info(name)()
    if (isLeft(found) && found.left._tag === 'NoSuchLog') {
      if (best === undefined) {
        const imported = await importTranscript(store, transcript, { id: name, metadata: { import: origin } })()
        if (isLeft(imported) && imported.left._tag === 'LogExists') return importNew(store, id, transcript, origin)
        await valueOrUnreadable(async () => imported)
      } else await valueOrUnreadable(forkSession(store, best.id, { at: best.shared, id: name }))
      const session = await openToAppend(store, name)
      const appended = best === undefined ? messages.length : await append(session, transcript, best.shared)
      await describe(session, { import: origin })
      if (best !== undefined) await describeFile(store, id, transcript)
      return { id: name, done: best === undefined ? 'stored' : 'branched', messages: appended, len: session.len }
    }
    const session = await openToAppend(store, name)
    const shared = commonLength(session, messages)
    if (shared === session.len || shared === messages.length) {
      const appended = shared === session.len ? await append(session, transcript, shared) : 0
      await describe(session, { import: origin, ...(number === 1 && fileOf(session, transcript)) })
      if (number > 1) await describeFile(store, id, transcript)
      return { id: name, done: appended === 0 ? 'unchanged' : 'continued', messages: appended, len: session.len }
    }
    if (best === undefined || shared > best.shared) best = { id: name, shared }
    await valueOrUnreadable(session.close())
  }
}

const openToAppend = async (store: Store, id: string): Promise<Session> => {
  const opened = await valueOrUnreadable(openSession(store, id))
  if (opened.state === 'open') return opened
  throw new Unreadable(`session ${JSON.stringify(id)} is sealed and takes no more appends; fork it to continue`)
}

/** The number of leading messages that a session and a conversation share. A damaged one is Unreadable. */
const commonLength = (session: Session, messages: readonly Message[]): number => {
  const view = session.view()
  const most = Math.min(view.length, messages.length)
  try {
    for (let position = 0; position < most; position++)
      if (!jsonEqual(view.at(position) as unknown as Json, messages[position] as unknown as Json)) return position
    return most
  } catch (error) {
    throw unreadableOf(error)
  }
}

/**
 * Append the messages from a position on, with the notes between them. Notes that are already stored are not written
 * again.
 */
const append = async (session: Session, { messages, notes }: Transcript, from: number): Promise<number> => {
  const there = new Set([...session.notes()].map((note) => JSON.stringify(note)))
  const write = async (note: Note): Promise<void> => {
    if (note.type !== 'seal' && note.type !== 'metadata' && !there.has(JSON.stringify(note)))
      await valueOrUnreadable(session.note(note))
  }
  let done = from
  for (const { position, note } of [...notes, { position: messages.length, note: undefined }]) {
    if (position > done) {
      const piece = messages.slice(done, position)
      await valueOrUnreadable(
        session.append(piece, {
          operation: `import ${done} ${rangeDigest(messages.slice(0, position))}`,
          expectedLen: done,
        }),
      )
      done = position
    }
    if (note !== undefined && position >= from) await write(note)
  }
  return messages.length - from
}

/** The first session of a file has the file's own data, such as the tokens of all its calls: they grow with the file. */
const describeFile = async (store: Store, id: string, transcript: Transcript): Promise<void> => {
  const session = await openToAppend(store, id)
  await describe(session, fileOf(session, transcript))
}

const fileOf = (session: Session, transcript: Transcript): JsonObject => {
  const { from } = exportOf(transcript).metadata
  return isObject(session.metadata()['from']) && from !== undefined ? { from } : {}
}

/** Store values in the metadata of a session, and close it. */
const describe = async (session: Session, values: JsonObject): Promise<void> => {
  const changed = Object.entries(values).filter(([name, value]) => !jsonEqual(session.metadata()[name] ?? null, value))
  if (changed.length > 0) {
    const updated = await session.update((metadata) => {
      for (const [name, value] of changed) metadata[name] = structuredClone(value) as (typeof metadata)[string]
    })()
    // Another import was faster: the session has its values now.
    if (isLeft(updated)) throw new Unreadable(faultMessage(updated.left))
  }
  await valueOrUnreadable(session.close())
}
