/** Brings a session's messages up to date with a conversation that continues in another program. */
import { isLeft, isObject, type Json, jsonEqual, type JsonObject } from 'indelible/internal/json'
import { isErased, type Message } from 'indelible/message'
import { forkSession, openSession, type Session } from 'indelible/session'
import { appendRows, notesThatRepeat } from 'indelible/internal/session'
import type { Store } from 'indelible/store'
import type { Transcript } from '@indelible/transcripts'
import { recordOf } from '@indelible/transcripts/internal'
import { Unreadable } from '../terminal/command.ts'
import { valueOrUnreadable, unreadableOf, faultText } from '../sources/place.ts'
import { isStubOf, type ErasedMessages } from './erased-messages.ts'

export interface RowsResult {
  readonly id: string
  readonly done: 'stored' | 'continued' | 'branched' | 'unchanged' | 'removed'
  readonly messages: number
  readonly len: number
}

/**
 * Bring the session of a conversation up to date.
 *
 * A record is never rewritten. If its last answer has grown since, the longer one replaces it in the conversation. If
 * earlier messages have changed, because the user went back, a fork continues from the last shared message, under the id
 * with a number. Messages that were erased in this store are not stored again.
 *
 * @param metadata that of a new session, beside the transcript's own
 * @param time that of messages whose source has no times, in milliseconds since 1970
 */
export const bringRows = async (
  store: Store,
  id: string,
  transcript: Transcript,
  metadata: JsonObject,
  erased: ErasedMessages,
  time: number = Date.now(),
): Promise<RowsResult> => {
  const erasedAt = erased.positionsIn(transcript, time)
  let best: { readonly id: string; readonly shared: number; readonly from: number } | undefined
  for (let number = 1; ; number++) {
    const name = number === 1 ? id : `${id}-${number}`
    const found = await store.info(name)()
    const isMissing = isLeft(found) && found.left._tag === 'NoSuchLog'
    if (isMissing && erased.isRemoved(name)) return { id: name, done: 'removed', messages: 0, len: 0 }
    if (isMissing) {
      if (best === undefined) {
        const rows = rowsFrom(transcript, 0, [], erasedAt, time)
        const created = await appendRows(store, name, {
          head: undefined,
          rows: [],
          blocks: new Map(),
          metadata: { ...recordOf(transcript).metadata, ...metadata },
        })()
        if (isLeft(created) && created.left._tag === 'LogExists')
          return bringRows(store, id, transcript, metadata, erased, time)
        const head = await valueOrUnreadable(async () => created)
        const stored = await appendRows(store, name, { head, metadata: undefined, rows, blocks: new Map() })()
        if (isLeft(stored) && stored.left._tag === 'Conflict')
          return bringRows(store, id, transcript, metadata, erased, time)
        await valueOrUnreadable(async () => stored)
        const messages = rows.filter((row) => 'message' in row).length
        return { id: name, done: 'stored', messages, len: messages }
      }
      const forked = await forkSession(store, best.id, { at: best.shared, id: name })()
      if (isLeft(forked) && forked.left._tag === 'LogExists')
        return bringRows(store, id, transcript, metadata, erased, time)
      await valueOrUnreadable(async () => forked)
      return bringRows(store, id, transcript, metadata, erased, time).then((done) => ({
        ...done,
        done: 'branched' as const,
      }))
    }
    const session = await openToAppend(store, name)
    try {
      const place = commonPlace(session, transcript, erased, erasedAt)
      const { shared, from, isWhole } = place
      if (isWhole || from === transcript.messages.length || place.grown !== undefined) {
        const done = await append(store, session, transcript, place, erasedAt, time)
        if (done === undefined) return await bringRows(store, id, transcript, metadata, erased, time)
        if (done > 0 && place.len > 0) await describeFile(store, id, transcript)
        const kind = done === 0 ? 'unchanged' : place.len === 0 ? 'stored' : 'continued'
        return { id: name, done: kind, messages: done, len: session.len + done }
      }
      if (best === undefined || shared > best.shared) best = { id: name, shared, from }
    } finally {
      await valueOrUnreadable(session.close())
    }
  }
}

/** Throws Unreadable if it is sealed. */
export const openToAppend = async (store: Store, id: string): Promise<Session> => {
  const opened = await valueOrUnreadable(openSession(store, id))
  if (opened.state === 'open') return opened
  throw new Unreadable(`session ${JSON.stringify(id)} is sealed and takes no more appends; fork it to continue`)
}

/** How far a session and a conversation are the same. */
interface CommonPlace {
  /** The length of the record up to there. */
  readonly shared: number
  /** The number of the conversation's messages up to there. */
  readonly from: number
  /** Whether the session's conversation ends there. */
  readonly isWhole: boolean
  /** The record's position of a last answer that has grown since. */
  readonly grown: number | undefined
  readonly len: number
}

/** An erased message counts as the same if roles and call ids are. A damaged one is Unreadable. */
const commonPlace = (
  session: Session,
  { messages }: Transcript,
  erased: ErasedMessages,
  erasedAt: ReadonlySet<number>,
): CommonPlace => {
  const view = session.conversation()
  const positionOf = (index: number): number => view.positionAt(index) ?? session.len
  let [index, from] = [0, 0]
  try {
    while (index < view.length && from < messages.length) {
      const [mine, its] = [view.at(index) as Message, messages[from] as Message]
      if (
        isErased(mine)
          ? isStubOf(mine, its) && (erasedAt.has(from) || !erased.isLater(its))
          : jsonEqual(mine as unknown as Json, its as unknown as Json)
      ) {
        index += 1
        from += 1
      } else if (erasedAt.has(from)) from += 1
      else break
    }
    const [last, now] = [view.at(index) as Message | undefined, messages[from]]
    const isGrown = index === view.length - 1 && last !== undefined && now !== undefined && hasGrown(last, now)
    return {
      shared: index === view.length ? session.len : positionOf(index),
      from,
      isWhole: index === view.length,
      grown: isGrown ? positionOf(index) : undefined,
      len: session.len,
    }
  } catch (error) {
    throw unreadableOf(error)
  }
}

/** Whether an answer is the beginning of another: its program was still writing it. */
const hasGrown = (last: Message, now: Message): boolean => {
  if (last.role !== 'assistant' || now.role !== 'assistant' || last.content.length > now.content.length) return false
  return last.content.every((part, at) => {
    const other = now.content[at]
    if (jsonEqual(part as unknown as Json, other as unknown as Json)) return true
    const [text, longer] = [textOf(part), textOf(other)]
    return at === last.content.length - 1 && text !== undefined && longer?.startsWith(text) === true
  })
}

const textOf = (part: Message['content'][number] | undefined): string | undefined =>
  part !== undefined && (part.type === 'text' || part.type === 'reasoning') ? part.text : undefined

/** The first session of a file has the file's own data, such as the tokens of all its calls: they grow with the file. */
const describeFile = async (store: Store, id: string, transcript: Transcript): Promise<void> => {
  const { from } = recordOf(transcript).metadata
  // The time of the last row: the session is as old as its conversation.
  const { appended: at } = await valueOrUnreadable(store.info(id))
  const session = await openToAppend({ ...store, now: () => at }, id)
  const before = session.metadata()['from']
  if (isObject(before) && isObject(from) && !jsonEqual(before, from)) {
    const updated = await session.update((metadata) => {
      metadata['from'] = structuredClone(from) as (typeof metadata)[string]
    })()
    if (isLeft(updated)) throw new Unreadable(faultText(updated.left))
  }
  await valueOrUnreadable(session.close())
}

type Rows = ReturnType<typeof rowsFrom>

/** The rows from a message on, with the notes between them. Left out: erased messages, notes that repeat them, stored notes. */
const rowsFrom = (
  transcript: Transcript,
  from: number,
  there: Iterable<unknown>,
  erasedAt: ReadonlySet<number>,
  time: number,
) => {
  const stored = new Set(Array.from(there, (note) => JSON.stringify(note)))
  const all = [...recordOf(transcript, time).rows]
  const notes = erasedAt.size === 0 ? [] : all.flatMap((row) => ('note' in row ? [row.note] : []))
  const repeating = erasedAt.size === 0 ? erasedAt : notesThatRepeat(transcript.messages, [...erasedAt], notes)
  let [position, index] = [0, 0]
  const rows = []
  for (const row of all) {
    if ('message' in row) {
      if (position >= from && !erasedAt.has(position)) rows.push({ ...row, at: row.at ?? time })
      position += 1
    } else if (
      !repeating.has(index++) &&
      position >= from &&
      row.note.type !== 'seal' &&
      row.note.type !== 'metadata' &&
      !stored.has(JSON.stringify(row.note))
    )
      rows.push({ ...row, at: row.at ?? time })
  }
  return rows
}

/** Append what is new. Returns the number of messages; undefined if another process appended meanwhile. */
const append = async (
  store: Store,
  session: Session,
  transcript: Transcript,
  { from, grown }: CommonPlace,
  erasedAt: ReadonlySet<number>,
  time: number,
): Promise<number | undefined> => {
  let rows: Rows = rowsFrom(transcript, from, session.notes(), erasedAt, time)
  if (grown !== undefined)
    rows = [{ note: { type: 'retraction', from: grown, to: grown + 1 } as const, at: rows[0]?.at ?? time }, ...rows]
  const messages = rows.filter((row) => 'message' in row).length
  if (messages === 0) return 0
  const isNew = session.len === 0 && ![...session.notes()].some(({ type }) => type === 'metadata')
  const metadata = isNew ? { ...recordOf(transcript).metadata, ...session.metadata() } : undefined
  const done = await appendRows(store, session.id, { head: session.head(), metadata, rows, blocks: new Map() })()
  if (!isLeft(done)) return messages
  if (done.left._tag === 'Conflict') return undefined
  throw new Unreadable(faultText(done.left))
}
