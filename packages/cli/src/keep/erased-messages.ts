/** What was erased or removed in a store, as its ledger records it, without texts: `keep` must not store it again. */
import { createHmac } from 'node:crypto'
import { decodeRow, erasedBody } from 'indelible/internal/entry'
import { erasedMessage } from 'indelible/internal/message'
import { isLeft, jsonIn } from 'indelible/internal/json'
import { contentsOf, ledgerContent, stubLeaf, type Erasure } from 'indelible/internal/store'
import { isErased, type Message, type Part, type ResultPart } from 'indelible/message'
import { pageKinds } from 'indelible/pages'
import type { Store } from 'indelible/store'
import { sourceTimeOf, type Transcript } from '@indelible/transcripts'
import { recordOf } from '@indelible/transcripts/internal'
import { valueOrUnreadable } from '../sources/place.ts'
import { allSessions } from '../sources/sessions.ts'
import { digestSecrets } from './digest-secrets.ts'
import { sourceOf } from './kept-files.ts'

export interface ErasedMessages {
  /** Whether nothing was erased in the store. */
  readonly isEmpty: boolean
  /** Whether messages of a program were erased, or perhaps: nobody knows of which program a removed session was. */
  readonly isOfProgram: (program: string) => boolean
  /**
   * The positions of a conversation's messages that were erased in any session, also in one that was removed since: their
   * roles, call ids and times are the same, or their texts and those of a message beside them. One that has grown since
   * counts, too.
   *
   * @param time that of messages whose source has no times
   */
  readonly positionsIn: (transcript: Transcript, time: number) => ReadonlySet<number>
  /** Whether a message was written after the last erasure. */
  readonly isLater: (message: Message) => boolean
  /** Whether a session was removed, and nobody asked to keep it again. */
  readonly isRemoved: (id: string) => boolean
  /** The sizes and digests of removed files, as `fileDigest` writes them. */
  readonly removedFiles: readonly string[]
}

/**
 * Digests by which a copy of a message is recognized once it is erased: with other times, by its text together with that of a message
 * beside it, since many conversations have a message such as "Continue."; and one of an encrypted session by its role, call ids
 * and time.
 *
 * @param isSecret whether the session is encrypted or salted: then the ledger has nothing of texts
 * @param secret that of the scope
 */
export const copyDigests = (
  messages: readonly Message[],
  timeOf: (position: number) => number | undefined,
  isSecret: boolean,
  secret: string,
): ReadonlyMap<number, readonly string[]> =>
  new Map(
    messages.map((message, position) => {
      const times = [sourceTimeOf(message), timeOf(position)]
      return [
        position,
        [...stubDigests(message, times, [secret]), ...(isSecret ? [] : pairDigests(messages, position, [secret]))],
      ]
    }),
  )

const stubDigests = (
  message: Message,
  times: readonly (number | undefined)[],
  secrets: readonly string[],
): readonly string[] => {
  const { role, content } = erasedMessage(message)
  return [...new Set(times)].flatMap((at) => (at === undefined ? [] : digestsOf([role, content, at], secrets)))
}

/** Of a message and the one before it, and of it and the next one. */
const pairDigests = (messages: readonly Message[], position: number, secrets: readonly string[]): readonly string[] =>
  [position - 1, position].flatMap((first) => {
    const pair = [messages[first], messages[first + 1]]
    const texts = pair.map((message) => (message === undefined || isErased(message) ? [] : textsOf(message)))
    if (texts.some((each) => each.length === 0) || JSON.stringify(texts).length < shortestPair) return []
    return digestsOf([position - first, pair.map((message) => message?.role), texts], secrets)
  })

/** Without the data of a format: another program writes other data with the same texts. */
const textsOf = ({ content }: Message): readonly string[] => {
  const texts: string[] = []
  for (const { what, text } of contentsOf(content.map(withoutMeta)))
    if (what === 'text' && text !== '') texts.push(text)
  return texts
}

const withoutMeta = (part: Part | ResultPart): object => {
  const { meta: _, ...rest } = part
  return rest.type === 'tool_result' ? { ...rest, content: rest.content.map(withoutMeta) } : rest
}

/** Shorter pairs of messages may be in any two conversations. */
const shortestPair = 32

/** Keyed, with each of the secrets: with the ledger alone nobody can confirm a guessed text. */
const digestsOf = (value: unknown, secrets: readonly string[]): readonly string[] => {
  const text = JSON.stringify(value)
  return secrets.map((secret) => createHmac('sha256', secret).update(text).digest('hex').slice(0, 32))
}

/** Nothing was erased or removed. */
export const nothingErased: ErasedMessages = {
  isEmpty: true,
  isOfProgram: () => false,
  positionsIn: () => new Set(),
  isLater: () => false,
  isRemoved: () => false,
  removedFiles: [],
}

/**
 * Read what was erased and removed in a scope.
 *
 * Cost    the ledger, and the erased rows of all sessions; then, if a message was erased, 12 hashes for each part of a message
 *         that is compared
 *
 * @param again the ids of removed sessions to keep again
 */
export const erasedIn = async (store: Store, again: readonly string[]): Promise<ErasedMessages> => {
  const { erasures, sessions } = await valueOrUnreadable(() => ledgerContent(store))
  const stubs = new Set<string>()
  const digests = new Set(erasures.flatMap(({ rows }) => rows.flatMap(({ digests: own }) => own ?? [])))
  const secrets = digests.size === 0 ? [] : await digestSecrets(store)
  for (const { rows } of erasures) for (const { kind, stub } of rows) if (kind === 'entry') stubs.add(stub)
  if (stubs.size > 0) await addStored(store, erasures, stubs)
  const erasedIds = new Set(erasures.map(({ id }) => id)) // in the end those of removed sessions
  const erasedPrograms = new Set<string | undefined>()
  if (erasedIds.size > 0)
    for await (const { id, metadata } of allSessions(store))
      if (erasedIds.delete(id)) erasedPrograms.add(sourceOf(metadata).program)
  const latest = erasures.reduce((last, { at }) => Math.max(last, at), 0)
  const isErasedAt = (message: Message, at: number): boolean =>
    stubsOf(message).some((body) => stubs.has(stubLeaf({ kind: 'entry', body, at }, store.hash)))
  return {
    isEmpty: erasures.length === 0,
    isOfProgram: (program) => erasedPrograms.has(program) || erasedIds.size > 0,
    positionsIn: (transcript, time) => {
      const positions = new Set<number>()
      if (stubs.size === 0) return positions
      const { messages } = transcript
      let position = 0
      for (const row of recordOf(transcript, time).rows) {
        if (!('message' in row)) continue
        if (digests.size > 0 && pairDigests(messages, position, secrets).some((digest) => digests.has(digest)))
          positions.add(position)
        // The row of a message that is older than the one before it has the time of that one.
        const times = new Set([sourceTimeOf(row.message), row.at, time])
        for (const at of times)
          if (
            at !== undefined &&
            (isErasedAt(row.message, at) ||
              stubDigests(row.message, [at], secrets).some((digest) => digests.has(digest)))
          ) {
            positions.add(position)
            break
          }
        position += 1
      }
      return positions
    },
    isLater: (message) => (sourceTimeOf(message) ?? 0) > latest,
    isRemoved: (id) => sessions.get(id)?.removed === true && !again.includes(id),
    removedFiles: [...sessions.values()].flatMap(({ removed, digests: files }) => (removed ? (files ?? []) : [])),
  }
}

/**
 * The stubs of sessions that are there: encrypted ones, of which the ledger has no leaf that could be made again, and those
 * of a shorter version of each message, as a file has that was copied before it grew.
 */
const addStored = async (store: Store, erasures: readonly Erasure[], stubs: Set<string>): Promise<void> => {
  const erasuresOf = Map.groupBy(erasures, ({ id }) => id)
  for await (const { id } of allSessions(store))
    for (const { row, kind } of (erasuresOf.get(id) ?? []).flatMap(({ rows }) => rows)) {
      const read = kind === 'entry' ? await store.read(id, { from: row, to: row + 1 })() : undefined
      const stored = read === undefined || isLeft(read) ? undefined : read.right[0]
      const decoded = stored?.erased === undefined ? undefined : decodeRow(stored.body)
      if (stored === undefined || decoded === undefined || isLeft(decoded)) continue
      for (const body of stubsOf(jsonIn(decoded.right.text) as unknown as Message))
        stubs.add(stubLeaf({ kind: 'entry', body, at: stored.at }, store.hash))
    }
}

/** The bodies with which a message may have been erased, whole or before it grew. */
const stubsOf = (message: Message): readonly string[] => {
  const bodies = new Set<string>()
  for (let parts = Math.min(1, message.content.length); parts <= message.content.length; parts++) {
    const stub = erasedMessage({ role: message.role, content: message.content.slice(0, parts) })
    for (const page of pageKinds) for (const tagged of [false, true]) bodies.add(erasedBody(stub, { page, tagged }))
  }
  return [...bodies]
}

/** Whether a stub is that of a message, whole or before it grew. */
export const isStubOf = (stub: Message, message: Message): boolean => {
  const text = JSON.stringify([stub.role, stub.content])
  for (let parts = message.content.length; parts >= 0; parts--) {
    const { role, content } = erasedMessage({ role: message.role, content: message.content.slice(0, parts) })
    if (JSON.stringify([role, content]) === text) return true
  }
  return false
}
