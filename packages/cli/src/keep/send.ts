/**
 * `indelible keep --to STORE`: sends the kept sessions to a second store, without secrets and without the bytes of files. What is
 * sent is a derived session: its metadata, which is in a note of it, names the head that its source had.
 */
import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import { present } from 'indelible/internal/json'
import type { RowMoment } from 'indelible/internal/session'
import type { View } from 'indelible/history'
import { ledgerContent } from 'indelible/internal/store'
import { isErased, type Message } from 'indelible/message'
import { createRedactor, type Redactor } from 'indelible/redact'
import {
  describeSession,
  eraseMessages,
  readSession,
  type ReadonlySession,
  type SealedSession,
  type SessionInfo,
} from 'indelible/session'
import type { Store } from 'indelible/store'
import type { Transcript } from '@indelible/transcripts'
import { headText, valueOrUnreadable } from '../sources/place.ts'
import { machineOf, sentIn, sentKey, type Sent } from '../sources/machines.ts'
import { allSessions } from '../sources/sessions.ts'
import { Unreadable, type Terminal } from '../terminal/command.ts'
import { erasedIn, type ErasedMessages } from './erased-messages.ts'
import { inParallel, reasonOf, type KeepOptions } from './keep-store.ts'
import { sourceOf } from './kept-files.ts'
import { textToErase } from './remaining-text.ts'
import { usableId } from './session-ids.ts'
import { bringRows, openToAppend, type RowsResult } from './session-rows.ts'

/** What was sent to another store. */
export interface SendReport {
  readonly scope: string
  readonly sessions: number
  readonly added: number
  readonly grown: number
  /** The sessions that have grown on two machines, each with the fork that has the messages of this one. */
  readonly forks: readonly string[]
  /** The number of messages that were erased there, because they were erased here. */
  readonly erased: number
  readonly secrets: number
  /** The sessions without a message that can be read. */
  readonly unread: readonly string[]
  /** The sessions that were not sent. */
  readonly failures: readonly { readonly id: string; readonly reason: string }[]
}

/**
 * Send the kept sessions that have changed since they were sent.
 *
 * Cost    a list of the sessions of both stores; then, of each that has changed, its messages
 */
export const sendSessions = async (
  from: Store,
  to: Store,
  user: string,
  { programs, isExcluded, again }: KeepOptions,
  terminal: Terminal,
): Promise<SendReport> => {
  const host = terminal.env['INDELIBLE_HOST'] || hostname()
  const copies = new Map<string, { readonly id: string; readonly head: string }[]>()
  const there = new Set<string>()
  for await (const { id, metadata } of allSessions(to)) {
    there.add(id)
    for (const entry of sentIn(metadata))
      copies.set(sentKey(entry), [...(copies.get(sentKey(entry)) ?? []), { id, head: entry.head }])
  }
  const redactor = createRedactor()
  const copiesOf = (id: string) => copies.get(sentKey({ host, user, session: sentId(redactor, id) })) ?? []
  const report = {
    added: 0,
    grown: 0,
    forks: [] as string[],
    unread: [] as string[],
    failures: [] as { readonly id: string; readonly reason: string }[],
  }
  const erasedHere = await erasedIn(from, [])
  const erasures = await eraseThere(from, to, erasedHere, (session) =>
    // Another machine may have sent the session before this one does.
    [...copiesOf(session).map(({ id }) => id), sentId(redactor, session)].filter((id) => there.has(id)),
  )
  const erased = withErasedHere(await erasedIn(to, again), erasedHere)
  const changed: SessionInfo[] = []
  let [sessions, done] = [0, 0]
  for await (const info of allSessions(from)) {
    const { program, path } = sourceOf(info.metadata)
    if (program === undefined || !programs.includes(program) || (path !== undefined && isExcluded(path))) continue
    sessions += 1
    if (info.len === 0) report.unread.push(info.id)
    else if (!copiesOf(info.id).some(({ head }) => head === headText(info.head))) changed.push(info)
  }
  const bar = terminal.progress('sending', changed.length, 'sessions')
  // Oldest first: a fork comes after its original.
  await inParallel(changed.toReversed(), async (info) => {
    const sent: Sent = { host, user, session: sentId(redactor, info.id), head: headText(info.head) }
    try {
      const result = await sendOne(from, to, info, sent, redactor, erased)
      if (result.done === 'stored') report.added += 1
      else if (result.done !== 'removed') report.grown += 1
      if (result.fork !== undefined) report.forks.push(result.fork)
    } catch (error) {
      report.failures.push({ id: info.id, reason: reasonOf(error) })
    }
    bar.at(++done)
  })
  bar.end()
  const secrets = [...redactor.counts()].reduce((sum, [, count]) => sum + count, 0)
  return { ...report, scope: to.scope, sessions, erased: erasures, secrets }
}

/** What became of a session, and the sentence about a fork. */
interface SendResult {
  readonly done: RowsResult['done']
  readonly fork: string | undefined
}

/** Send one session: a copy that is there gets what is new. */
const sendOne = async (
  from: Store,
  to: Store,
  info: SessionInfo,
  own: Sent,
  redactor: Redactor,
  erased: ErasedMessages,
): Promise<SendResult> => {
  const session = await readWhole(from, info.id)
  const transcript = transcriptOf(session, session.conversation(), redactor)
  const metadata = redactor.json(info.metadata)
  const result = await bringRows(to, own.session, transcript, metadata, erased, info.appended)
  if (result.done === 'removed') return { done: 'removed', fork: undefined }
  // The time of the last row: the session is as old as its conversation.
  const { appended: at, metadata: before, forkedFrom } = await valueOrUnreadable(describeSession(to, result.id))
  const copy = await openToAppend({ ...to, now: () => at }, result.id)
  try {
    const all = sentIn(before)
    const isFork = result.done === 'branched' && forkedFrom !== undefined
    const others = isFork ? [] : all.filter((entry) => sentKey(entry) !== sentKey(own))
    await valueOrUnreadable(
      copy.update((values) => {
        values['keptFrom'] = structuredClone([...others, own]) as unknown as (typeof values)[string]
      }),
    )
    const other = isFork ? all.find(({ host, user }) => host !== own.host || user !== own.user) : undefined
    if (!isFork || other === undefined) return { done: result.done, fork: undefined }
    const place = `${machineOf(other)} and on ${machineOf(own)}`
    const text = `This session has grown on ${place}: this fork has the messages of ${machineOf(own)} from ${forkedFrom.at} on, and ${forkedFrom.id} has those of ${machineOf(other)}`
    await valueOrUnreadable(copy.note({ type: 'application', namespace: 'indelible.note', content: { text } }))
    return { done: 'branched', fork: `${info.id} has grown on ${place}: continued in the fork ${result.id}` }
  } finally {
    await valueOrUnreadable(copy.close())
  }
}

/** The id that a session is sent under: a file's name may be a secret. */
const sentId = ({ quiet }: Redactor, id: string): string => {
  const text = quiet.text(id)
  return text === id ? id : usableId(`${text} ${createHash('sha256').update(id).digest('hex').slice(0, 8)}`)
}

/** A session that can be read whole. Throws Unreadable. */
const readWhole = async (store: Store, id: string): Promise<ReadonlySession | SealedSession> => {
  const session = await valueOrUnreadable(readSession(store, id))
  const [damage] = session.damaged
  if (damage !== undefined) throw new Unreadable(`row ${damage.row} is damaged: ${damage.reason}`)
  return session
}

/** Messages of a session as a transcript, with their page kinds and times. */
const transcriptOf = (
  session: ReadonlySession | SealedSession,
  view: View<Message>,
  redactor?: Redactor,
): Transcript => {
  const { pages, rows } = session.at()
  const times = Array.from(rows()).flatMap((row) => (row.kind === 'entry' ? [row.at] : []))
  const positions = Array.from(view, (_, index) => view.positionAt(index) ?? index)
  return {
    format: 'indelible',
    messages: Array.from(view, (message) => redactor?.message(message) ?? message),
    pages: positions.map((position) => pages[position] ?? 'conversation'),
    moments: positions.map((position) => present({ at: times[position] }) as RowMoment),
    notes: [],
    origin: { id: session.id, metadata: {}, models: [], aside: {} },
    losses: [],
    damage: [],
    count: 1,
    pick: 0,
  }
}

/** What was erased there, and what was erased here: of that only stubs are left. */
const withErasedHere = (there: ErasedMessages, here: ErasedMessages): ErasedMessages => ({
  ...there,
  positionsIn: (transcript, time) =>
    new Set([
      ...there.positionsIn(transcript, time),
      ...here.positionsIn(transcript, time),
      ...transcript.messages.flatMap((message, position) => (isErased(message) ? [position] : [])),
    ]),
  isLater: (message) => there.isLater(message) && here.isLater(message),
})

/** Erase in copies what was erased here since they were sent. Returns the number of messages. */
const eraseThere = async (
  from: Store,
  to: Store,
  here: ErasedMessages,
  copiesOf: (session: string) => readonly string[],
): Promise<number> => {
  const [own, other] = [
    await valueOrUnreadable(() => ledgerContent(from)),
    await valueOrUnreadable(() => ledgerContent(to)),
  ]
  const done = new Set(other.erasures.flatMap(({ rows }) => rows.map(({ stub }) => stub)))
  const news = own.erasures.filter(({ rows }) => rows.some(({ kind, stub }) => kind === 'entry' && !done.has(stub)))
  let count = 0
  for (const id of new Set(news.flatMap((erasure) => copiesOf(erasure.id)))) {
    const session = await valueOrUnreadable(readSession(to, id))
    const view = session.view()
    const messages = [...here.positionsIn(transcriptOf(session, view), 0)].filter(
      (at) => !isErased(view.at(at) as Message),
    )
    if (messages.length === 0) continue
    const { digests } = await textToErase(to, id, messages)
    await valueOrUnreadable(eraseMessages(to, id, { messages }, present({ digests })))
    count += messages.length
  }
  return count
}
