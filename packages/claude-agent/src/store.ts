/** A `SessionStore` of the Claude Agent SDK: each transcript is a record, and each of its lines a note of it. */
import { isLeft, isObject, type Json, type JsonObject, liveOf, plainOf, type Tag } from 'indelible/json/kit'
import { codecFaultText } from 'indelible/codecs/kit'
import type { ApplicationNote } from 'indelible/notes/kit'
import { listSessions, type Session, type SessionInfo, type SessionReader } from 'indelible/session'
import type { Store, Where } from 'indelible/store'
import { pagesOf, FaultError } from 'indelible/task/kit'
import { readTranscript, type Transcript } from '@indelible/transcripts'
import { idOfParts, adapterSessions, removeMarked, type AdapterSession, type Mark } from 'indelible/session/kit'
import type { ClaudeEntry, ClaudeKey, ClaudeSummary, FoldSummary } from './wire.ts'

/** What a store of sessions can do beside the least. */
export interface ClaudeStoreOptions {
  /** `foldSessionSummary` of the SDK: with it the store has `listSessionSummaries`. */
  readonly fold?: FoldSummary
  /** Whether `deleteSession` removes records. With false it is a no-op, as the SDK has it for stores that only grow. Default: true. */
  readonly canDelete?: boolean
}

/** What the record says of a session of Claude. */
export interface ClaudeSession {
  /** The conversation, as a transcript of Claude Code is read: messages, notes, what stands aside, damage. */
  readonly transcript: Transcript
  /** Ids that lines name as their parents and that no line has: lines that were never stored. */
  readonly missing: readonly string[]
}

/** A `SessionStore` of the Claude Agent SDK over a store. Its functions throw a `FaultError` if the store fails. */
export interface ClaudeSessionStore {
  /** Append lines, in the order of their commits. Lines whose `uuid` is there already are left out. */
  readonly append: (key: ClaudeKey, entries: ClaudeEntry[]) => Promise<void>
  /** The lines of a transcript; null if it was never written. */
  readonly load: (key: ClaudeKey) => Promise<ClaudeEntry[] | null>
  /** The sessions of a project, with the times of their last appends by the store's clock. */
  readonly listSessions: (projectKey: string) => Promise<{ sessionId: string; mtime: number }[]>
  /** Summaries of the sessions of a project. There with `fold`. */
  readonly listSessionSummaries?: (projectKey: string) => Promise<ClaudeSummary[]>
  /** Remove a transcript; that of a session with those of its sub-agents. Not there with `canDelete: false`. */
  readonly delete?: (key: ClaudeKey) => Promise<void>
  /** The sub-agents' files of a session. */
  readonly listSubkeys: (key: { projectKey: string; sessionId: string }) => Promise<string[]>
  /** The conversation of a transcript; undefined if it was never written. */
  readonly readSession: (key: ClaudeKey) => Promise<ClaudeSession | undefined>
  /** The id of a transcript's record in the store, for `openSession`, `verifySession` and the command. */
  readonly idOf: (key: ClaudeKey) => string
}

/**
 * A `SessionStore` for `query({ options: { sessionStore } })` of the Claude Agent SDK.
 *
 * Lines come back deeply equal, with their keys in order. Two processes may append to one transcript: the order is that
 * of the commits, and no clock of a client counts. A line with a `uuid` is stored once. An `append` that rejects has
 * stored nothing, and the SDK tells of it (`mirror_error`); `readSession` finds lines that are missing later.
 *
 * Cost    `append` one append, independent of the length, and with `fold` one change of metadata; `load` O(transcript)
 * Source  `@anthropic-ai/claude-agent-sdk` 0.3.330, `SessionStore`
 * @example
 * const sessionStore = claudeSessionStore(store, { fold: foldSessionSummary })
 * for await (const message of query({ prompt, options: { sessionStore } })) show(message)
 */
export const claudeSessionStore = (
  store: Store,
  { fold, canDelete = true }: ClaudeStoreOptions = {},
): ClaudeSessionStore => {
  const open = openTranscripts(store)
  const idOf = (key: ClaudeKey): string => logOf(key, store)
  const transcripts = (where: JsonObject): AsyncGenerator<SessionInfo> => listed(store, where)
  const entriesOf = async (key: ClaudeKey): Promise<ClaudeEntry[] | null> => {
    const session = await open(key).read()
    return session === undefined ? null : entriesIn(session, 0)
  }

  /** The summary of everything that is there: what is not in it yet is folded, also what another process appended. */
  const summarize = async (key: ClaudeKey, mtime: number): Promise<ClaudeSummary | undefined> => {
    for (;;) {
      const session = await open(key).read()
      if (session === undefined || fold === undefined) return undefined
      const { data, folded } = summaryIn(session.metadata())
      const size = session.notes().length
      const before = data === undefined ? undefined : { sessionId: key.sessionId, mtime, data }
      if (before !== undefined && folded === size) return before
      const summary = fold(before, key, entriesIn(session, before === undefined ? 0 : folded), { mtime })
      const updated = session.update((metadata) => {
        metadata['summary'] = { data: JSON.parse(JSON.stringify(summary.data)), folded: size }
      })
      const answer = await updated()
      if (!isLeft(answer)) return summary
      if (answer.left._tag !== 'MetadataConflict') await updated // throws; in a conflict another one has folded
    }
  }

  return Object.freeze<ClaudeSessionStore>({
    append: async (key, entries) => {
      if (entries.length === 0) return
      const notes = entries.map((entry) => ({ uuid: entry.uuid, note: noteOf(entry) }))
      await open(key).change((session) => {
        const [there, now] = [uuidsIn(session), new Set<string>()]
        const fresh = notes.flatMap(({ uuid, note }) => {
          if (typeof uuid !== 'string') return [note]
          if (there.has(uuid) || now.has(uuid)) return []
          now.add(uuid)
          return [note]
        })
        return fresh.length === 0 ? undefined : { notes: fresh }
      })
      if (fold !== undefined && key.subpath === undefined) await summarize(key, store.now())
    },
    load: entriesOf,
    listSessions: async (projectKey) => {
      const found: { sessionId: string; mtime: number }[] = []
      for await (const info of transcripts({ projectKey, subpath: null })) found.push(mtimeOf(info))
      return found
    },
    ...(fold !== undefined && {
      listSessionSummaries: async (projectKey: string) => {
        const found: ClaudeSummary[] = []
        for await (const info of transcripts({ projectKey, subpath: null })) {
          const { sessionId, mtime } = mtimeOf(info)
          const { data, folded } = summaryIn(info.metadata)
          // A process died between its append and its summary: it is made now.
          const summary =
            data === undefined || folded !== info.head.size - info.len
              ? await summarize({ projectKey, sessionId }, mtime)
              : { sessionId, mtime, data }
          if (summary !== undefined) found.push({ ...summary, mtime })
        }
        return found
      },
    }),
    ...(canDelete && {
      delete: async (key: ClaudeKey) => {
        if (key.subpath !== undefined) return removeMarked(store, idOf(key), markOf(key))
        for await (const { id, metadata } of transcripts({ projectKey: key.projectKey, sessionId: key.sessionId }))
          await removeMarked(store, id, { [namespace]: markIn(metadata) })
      },
    }),
    listSubkeys: async ({ projectKey, sessionId }) => {
      const found: string[] = []
      for await (const { metadata } of transcripts({ projectKey, sessionId })) {
        const { subpath } = markIn(metadata)
        if (typeof subpath === 'string') found.push(subpath)
      }
      return found
    },
    readSession: async (key) => {
      const entries = await entriesOf(key)
      if (entries === null) return undefined
      const read = readTranscript(entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''))
      if (isLeft(read)) throw new FaultError(read.left, codecFaultText(read.left))
      return Object.freeze({ transcript: read.right, missing: Object.freeze(missingIn(entries)) })
    },
    idOf,
  })
}

const namespace = 'claude-agent'

const openTranscripts = (store: Store): ((key: ClaudeKey) => AdapterSession) => {
  const open = adapterSessions(store)
  return (key) => {
    return open(logOf(key, store), markOf(key))
  }
}

const markOf = ({ projectKey, sessionId, subpath }: ClaudeKey): Mark => ({
  [namespace]: { projectKey, sessionId, subpath: subpath ?? null },
})

const logOf = ({ projectKey, sessionId, subpath }: ClaudeKey, store: Store): string =>
  idOfParts([namespace, projectKey, sessionId, ...(subpath === undefined ? [] : [subpath])], store)

async function* listed(store: Store, where: JsonObject): AsyncGenerator<SessionInfo> {
  const read = { where: { [namespace]: where as Where }, limit: 1000 }
  for await (const { sessions } of pagesOf((from) => listSessions(store, { ...read, ...from }))) yield* sessions
}

const markIn = (metadata: JsonObject): JsonObject => {
  const mark = metadata[namespace]
  return isObject(mark) ? mark : {}
}

const mtimeOf = ({ metadata, appended }: SessionInfo): { readonly sessionId: string; readonly mtime: number } => ({
  sessionId: String(markIn(metadata)['sessionId']),
  mtime: Math.floor(appended),
})

const summaryIn = (
  metadata: JsonObject,
): { readonly data: Record<string, unknown> | undefined; readonly folded: number } => {
  const { summary } = metadata
  const { data, folded } = isObject(summary) ? summary : ({} as JsonObject)
  return {
    data: isObject(data) ? (structuredClone(data) as Record<string, unknown>) : undefined,
    folded: typeof folded === 'number' ? folded : 0,
  }
}

/** A line as it is stored: what JSON has no word for (half a surrogate pair, mostly) is tagged. */
const noteOf = (entry: ClaudeEntry): ApplicationNote => {
  const { value, tags } = plainOf(entry)
  const content: Json = tags.length === 0 ? value : { entry: value, tags: tags as unknown as Json }
  return { type: 'application', namespace: tags.length === 0 ? namespace : taggedNamespace, content }
}

const taggedNamespace = `${namespace}.tagged`

const entriesIn = (session: SessionReader, from: number): ClaudeEntry[] => {
  const entries: ClaudeEntry[] = []
  for (const note of session.notes().slice(from)) {
    if (note.type !== 'application' || !isObject(note.content)) continue
    // The casts: lines of these namespaces are what `noteOf` made of an entry.
    if (note.namespace === namespace) entries.push(structuredClone(note.content) as unknown as ClaudeEntry)
    if (note.namespace !== taggedNamespace) continue
    const { entry, tags } = note.content
    entries.push(liveOf(structuredClone(entry), tags as unknown as readonly Tag[]) as ClaudeEntry)
  }
  return entries
}

/** The ids of the lines of a session. Each note is looked at once for each handle. */
const uuidsIn = (session: Session): ReadonlySet<string> => {
  const known = seenIds.get(session) ?? { ids: new Set<string>(), notes: 0 }
  const notes = session.notes()
  for (const note of notes.slice(known.notes)) {
    if (note.type !== 'application' || !isObject(note.content)) continue
    const line = note.namespace === taggedNamespace ? note.content['entry'] : note.content
    const uuid = isObject(line) ? line['uuid'] : undefined
    if (typeof uuid === 'string') known.ids.add(uuid)
  }
  known.notes = notes.length
  seenIds.set(session, known)
  return known.ids
}

const seenIds = new WeakMap<Session, { readonly ids: Set<string>; notes: number }>()

/** The parents that lines name and nobody is. */
const missingIn = (entries: readonly ClaudeEntry[]): readonly string[] => {
  const there = new Set(entries.map(({ uuid }) => uuid))
  const named = entries.flatMap(({ parentUuid }) => (typeof parentUuid === 'string' ? [parentUuid] : []))
  return [...new Set(named)].filter((id) => !there.has(id))
}
