/** The three tools of `indelible mcp`: their definitions, and what they answer. */
import type { Tool as ToolDefinition } from '@modelcontextprotocol/server'
import { isErased, type Message } from 'indelible/message'
import { isLeft, present, type JsonObject } from 'indelible/internal/json'
import { textsOf } from 'indelible/internal/entry'
import { isRecorded } from 'indelible/internal/store'
import { createRedactor, type Redactor } from 'indelible/redact'
import { describeSession, readRange, type SessionInfo } from 'indelible/session'
import type { Store } from 'indelible/store'
import { activityOf, titleOf, workFolderOf } from '@indelible/view/internal'
import { faultText, headText, valueOrUnreadable } from '../sources/place.ts'
import { timeOf, Unreadable } from '../terminal/command.ts'
import { countText } from '../terminal/screen.ts'
import { Answer } from './answer.ts'
import { withoutOwnResults } from './own-results.ts'
import { passageIn, searchSessions, type FoundSessions, type Hit } from './passages.ts'
import { programOf, type ReadableSessions, type SessionFilter } from './readable-sessions.ts'

/** What a call may read. */
export interface Source {
  readonly store: Store
  readonly sessions: ReadableSessions
  /** The id of the conversation that asks, if its program sends it. */
  readonly asking: string | undefined
}

type Arguments = { readonly [name: string]: unknown }

export interface Tool {
  readonly definition: ToolDefinition
  /** The text of the answer. Throws Misuse and Unreadable, whose messages are answered as errors. */
  readonly answer: (args: Arguments, source: Source) => Promise<string>
}

export const instructions =
  'Before you decide, search the web, redo work or ask the user about something that may have come up before in this project, call `search` with a question: it finds what was said and done in past conversations, also in those that were compacted or deleted.'

const project = { type: 'string', description: 'folder or name' }
const since = { type: 'string', description: '2026-11-22 or 7d' }
const position = { type: 'integer', minimum: 0 }
const annotations = { readOnlyHint: true } as const

const mostSessions = 10
/** What most answers have room for. */
const usualSessions = 6
/** The most passages of a session, and the most messages that are looked at for them. */
const mostPassages = 3
const mostHits = 20
/** In tokens: a session is added only if so many are left for it. */
const leastOfSession = 150

const search: Tool = {
  definition: {
    name: 'search',
    description: 'Ask past conversations a question. Returns sessions and their best passages.',
    inputSchema: {
      type: 'object',
      properties: { question: { type: 'string' }, project, since, limit: { type: 'integer', maximum: mostSessions } },
      required: ['question'],
    },
    annotations,
  },
  answer: async (args, { store, sessions, asking }) => {
    const question = textArgument(args, 'question')
    if (question === undefined || !/[\p{L}\p{N}]|\p{Extended_Pictographic}/u.test(question))
      throw new Unreadable('search needs a question of at least one word')
    const limit = Math.min(mostSessions, numberArgument(args, 'limit', 1) ?? mostSessions)
    const readable = new Map(sessions.matching(filterOf(args)).map((info) => [info.id, info]))
    if (readable.size === 0) return noSessionsText(sessions, args)
    const isAll = readable.size === sessions.size
    const most = asking === undefined ? limit : limit + 1
    const redactor = createRedactor()
    const answer = new Answer()
    let [shown, passages] = [0, 0]
    const tried = new Set<string>()
    let isFull = false
    /** Add the sessions that the answer has room for. */
    const addSessions = async ({ sessions: found }: FoundSessions): Promise<void> => {
      // The conversation that asks knows its own messages.
      const ordered = found.toSorted((a, b) => Number(a.id === asking) - Number(b.id === asking)).slice(0, limit)
      for (const session of ordered) {
        if (answer.room < leastOfSession) isFull = true
        if (isFull) break
        if (tried.has(session.id)) continue
        tried.add(session.id)
        const info = await currentInfo(store, readable.get(session.id))
        if (info === undefined) continue
        const { texts, more } = await passagesOf(store, question, info, session, redactor)
        const line = { ...lineOf(info, redactor), ...(info.id === asking && { asking: true }), passages: texts }
        if (texts.length === 0) continue
        if (!answer.add(line)) {
          isFull = true
          break
        }
        shown += 1
        passages += more
      }
    }
    // An answer has room for a few sessions, unless their passages are short.
    const few = asking === undefined ? Math.min(most, usualSessions) : most
    let found = await searchSessions(store, question, readable, isAll, few, mostPassages)
    await addSessions(found)
    if (found.more > 0 && few < most && !isFull) {
      found = await searchSessions(store, question, readable, isAll, most, mostPassages)
      await addSessions(found)
    }
    // Ids are data too, so they are between the marks.
    for (const id of found.altered.slice(0, mostPassages)) answer.add({ session: id, altered: true })
    return answer.text([
      shown === 0 ? 'Nothing was found.' : verifyHint,
      ...leftOut([
        [found.sessions.length + found.more - shown, 'session', ''],
        [passages, 'passage', ' of these'],
      ]),
      ...(found.altered.length === 0
        ? []
        : [
            `Altered messages of ${countText(found.altered.length, 'session')} are left out: "indelible verify" finds them.`,
          ]),
      ...found.remarks,
    ])
  },
}

const read: Tool = {
  definition: {
    name: 'read',
    description: 'Read the messages of a session from a position, up to but not including `to`.',
    inputSchema: {
      type: 'object',
      properties: { session: { type: 'string' }, from: position, to: position },
      required: ['session'],
    },
    annotations,
  },
  answer: async (args, { store, sessions }) => {
    const id = textArgument(args, 'session')
    if (id === undefined) throw new Unreadable('read needs a session: an id from search or list_sessions')
    const info = await currentInfo(store, sessions.get(id))
    if (info === undefined)
      throw new Unreadable(`there is no session ${JSON.stringify(id)} here; list_sessions lists those that can be read`)
    const from = numberArgument(args, 'from', 0) ?? 0
    const to = Math.min(info.len, numberArgument(args, 'to', 0) ?? info.len)
    if (from >= to)
      throw new Unreadable(`no messages from ${from} to ${to}: the session has ${countText(info.len, 'message')}`)
    const redactor = createRedactor()
    const answer = new Answer()
    answer.add(lineOf(info, redactor))
    let [next, empty, altered] = [to, 0, 0]
    for (const at of await sessions.positions(info)) {
      if (at < from) continue
      if (at >= to) break
      const message = await recordedMessage(store, id, at)
      const text = message === undefined ? '' : textOf(message, redactor)
      if (message === undefined) altered += 1
      else if (text === '') empty += 1
      else {
        const added = addMessage(answer, { at, role: message.role }, text)
        if (added === 'whole') continue
        next = added === 'cut' ? at + 1 : at
        break
      }
    }
    return answer.text([
      verifyHint,
      ...leftOut([
        [to - next, 'position', `: read from ${next}`],
        [empty, 'message', ' without text'],
        [altered, 'message', ' altered since recorded'],
      ]),
    ])
  },
}

const listSessions: Tool = {
  definition: {
    name: 'list_sessions',
    description: 'List past sessions, the latest first.',
    inputSchema: { type: 'object', properties: { project, program: { type: 'string' }, since } },
    annotations,
  },
  answer: async (args, { store, sessions, asking }) => {
    const program = textArgument(args, 'program')
    const found = sessions
      .matching({ ...filterOf(args), ...present({ program }) })
      .toSorted((a, b) => activityOf(b) - activityOf(a))
    const redactor = createRedactor()
    const answer = new Answer()
    let [shown, gone] = [0, 0]
    for (const known of found) {
      const info = await currentInfo(store, known)
      if (info === undefined) gone += 1
      else if (
        !answer.add({ ...lineOf(info, redactor), messages: info.len, ...(info.id === asking && { asking: true }) })
      )
        break
      else shown += 1
    }
    const left = found.length - shown - gone
    if (found.length === gone) return noSessionsText(sessions, args)
    return answer.text([verifyHint, ...leftOut([[left, 'session', ': ask with since, program or project']])])
  },
}

export const tools: readonly Tool[] = [search, read, listSessions]

const verifyHint = '"indelible verify SESSION --head HEAD" tells whether a session is still the same.'

/** At most three passages of a session, and how many other messages of it have words of the question. */
const passagesOf = async (
  store: Store,
  question: string,
  info: SessionInfo,
  { hits, more: others }: FoundSessions['sessions'][number],
  redactor: Redactor,
): Promise<{ readonly texts: readonly JsonObject[]; readonly more: number }> => {
  const texts: JsonObject[] = []
  const tried = new Set<number>()
  const addPassages = async (found: readonly Hit[]): Promise<void> => {
    for (const hit of found) {
      if (texts.length === mostPassages) break
      if (tried.has(hit.position)) continue
      tried.add(hit.position)
      const text = await passageIn(store, hit, redactor)
      if (text !== undefined) texts.push({ at: hit.position, role: hit.role, text })
    }
  }
  await addPassages(hits)
  // Earlier answers of this server repeat the question's words, so they may be all that was found first.
  if (texts.length < mostPassages && others > 0)
    for (const found of (await searchSessions(store, question, new Map([[info.id, info]]), false, 1, mostHits))
      .sessions)
      await addPassages(found.hits)
  return { texts, more: Math.max(0, hits.length + others - tried.size) }
}

/** Says that no session can be answered about, and which could be. */
const noSessionsText = (sessions: ReadableSessions, args: Arguments): string => {
  const { since, project, program } = args
  const isFiltered = [since, project, program].some((value) => value !== undefined)
  return `No sessions${isFiltered ? ' match the arguments' : ''}: this server answers about ${sessions.about}.`
}

/** A message; undefined if the store's file has another one than was recorded. */
const recordedMessage = async (store: Store, id: string, position: number): Promise<Message | undefined> => {
  const read = await readRange(store, id, position, position + 1)()
  if (isLeft(read) && read.left._tag !== 'DamagedLog') throw new Unreadable(faultText(read.left))
  const [row] = await valueOrUnreadable(store.read(id, { from: position, to: position + 1 }))
  const isSame = row !== undefined && (await valueOrUnreadable(isRecorded(store, id, row)))
  return isLeft(read) || !isSame ? undefined : (read.right.view.at(0) as Message)
}

/** A sentence with what is left out; nothing if nothing is. */
const leftOut = (counts: readonly (readonly [count: number, noun: string, remark: string])[]): readonly string[] => {
  const texts = counts.flatMap(([count, noun, remark]) => (count > 0 ? [`${countText(count, noun)}${remark}`] : []))
  return texts.length === 0 ? [] : [`Left out: ${texts.join(', ')}.`]
}

/** The description of a session as it is now; undefined if it was removed. */
const currentInfo = async (store: Store, known: SessionInfo | undefined): Promise<SessionInfo | undefined> => {
  if (known === undefined) return undefined
  const info = await describeSession(store, known.id)()
  return isLeft(info) ? undefined : info.right
}

/** The most characters of a title or a folder. */
const mostOfName = 120

const lineOf = (info: SessionInfo, redactor: Redactor): JsonObject => {
  const nameOf = (text: string | undefined): string | undefined =>
    text === undefined ? undefined : cutText(redactor.text(text), mostOfName)
  return {
    session: info.id,
    ...present({ program: nameOf(programOf(info)), project: nameOf(workFolderOf(info)), title: nameOf(titleOf(info)) }),
    time: new Date(activityOf(info)).toISOString(),
    head: headText(info.head),
  }
}

export const cutText = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, most - 1).toWellFormed()}…` : text

/** The text of a message without secrets; empty if it was erased or is an answer of this server. */
const textOf = (message: Message, redactor: Redactor): string =>
  isErased(message)
    ? ''
    : textsOf(withoutOwnResults(message))
        .map(({ text }) => redactor.text(text))
        .join('\n')

/** Add a message; if it does not fit and would fill most of an answer, its beginning. */
const addMessage = (answer: Answer, place: JsonObject, text: string): 'whole' | 'cut' | 'none' => {
  if (answer.add({ ...place, text })) return 'whole'
  if (answer.room < leastOfMessage) return 'none'
  for (let most = Math.min(text.length, 4 * answer.room); most > 0; most = Math.floor(most * 0.8)) {
    const start = text.slice(0, most).toWellFormed()
    if (answer.add({ ...place, text: start, cutCharacters: text.length - most })) return 'cut'
  }
  return 'none'
}

/** In tokens: a message that does not fit is cut only if so many are left for it. */
const leastOfMessage = 1000

const textArgument = (args: Arguments, name: string): string | undefined => {
  const value = args[name]
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string') throw new Unreadable(`${name} takes a text`)
  return value
}

const numberArgument = (args: Arguments, name: string, least: number): number | undefined => {
  const value = args[name]
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < least)
    throw new Unreadable(`${name} takes a whole number from ${least}`)
  return value
}

const filterOf = (args: Arguments): SessionFilter => {
  const since = textArgument(args, 'since')
  return present({ project: textArgument(args, 'project'), since: timeOf('since', since) })
}
