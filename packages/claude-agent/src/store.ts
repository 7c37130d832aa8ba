/** A `SessionStore` of the Claude Agent SDK: each transcript is a record, and each of its lines a note. */
import {
  isLeft,
  isObject,
  type Json,
  type JsonObject,
  revivePlain,
  plainOf,
  type Tag,
  optionsOf,
} from 'indelible/internal/json'
import { codecFaultText } from 'indelible/internal/codecs'
import type { ApplicationNote } from 'indelible/internal/notes'
import { listSessions, type Session, type SessionInfo, type SessionReader } from 'indelible/session'
import type { Store } from 'indelible/store'
import { pagesOf, FaultError } from 'indelible/internal/task'
import { readTranscript, type Transcript } from '@indelible/transcripts'
import {
  idOfParts,
  adapterSessions,
  removeMarked,
  type AdapterSession,
  type SessionMark,
  checkStore,
} from 'indelible/internal/session'
import type { ClaudeEntry, ClaudeKey, ClaudeSummary, FoldSummary } from './wire.ts'
import type { Where } from 'indelible/internal/store'

/** The optional features of a session store. */
export interface ClaudeStoreOptions {
  /** The SDK's `foldSessionSummary`. With it the store has `listSessionSummaries`. */
  readonly fold?: FoldSummary
  /** Whether `deleteSession` removes records. If false it is a no-op, as the SDK allows. Default: true. */
  readonly canDelete?: boolean
}

/** A Claude session, read from its record. */
interface ClaudeSession {
  /** The conversation, read like a transcript of Claude Code: messages, notes, other lines, damage. */
  readonly transcript: Transcript
  /** The parent ids for which no line exists: lines that were never stored. */
  readonly missing: readonly string[]
}

/** A `SessionStore` of the Claude Agent SDK on a store. Its functions throw a `FaultError` if the store fails. */
export interface ClaudeSessionStore {
  /** Append lines, in commit order. A line whose `uuid` is already stored is left out. */
  readonly append: (key: ClaudeKey, entries: ClaudeEntry[]) => Promise<void>
  /** The lines of a transcript; null if it was never written. */
  readonly load: (key: ClaudeKey) => Promise<ClaudeEntry[] | null>
  /** The sessions of a project, with the times of their last appends by the store's clock. */
  readonly listSessions: (projectKey: string) => Promise<{ sessionId: string; mtime: number }[]>
  /** Summaries of the sessions of a project. Present if `fold` is given. */
  readonly listSessionSummaries?: (projectKey: string) => Promise<ClaudeSummary[]>
  /** Remove a transcript; for a session, also those of its sub-agents. Absent if `canDelete` is false. */
  readonly delete?: (key: ClaudeKey) => Promise<void>
  /** The subpaths of a session's sub-agents. */
  readonly listSubkeys: (key: { projectKey: string; sessionId: string }) => Promise<string[]>
  /** The conversation of a transcript; undefined if it was never written. */
  readonly readSession: (key: ClaudeKey) => Promise<ClaudeSession | undefined>
  /** The id of a transcript's record in the store, for `openSession`, `verifySession` and the command. */
  readonly idOf: (key: ClaudeKey) => string
}

/**
 * A `SessionStore` for `query({ options: { sessionStore } })` of the Claude Agent SDK.
 *
 * Lines come back deeply equal, with their keys in order. Two processes may append to one transcript: lines are
 * in commit order, and client clocks don't matter. A line with a `uuid` is stored once. If `append` rejects,
 * nothing was stored, and the SDK reports `mirror_error`; `readSession` later reports the missing lines.
 *
 * Cost    `append`: one append, independent of the length, and with `fold` one metadata update; `load`: O(transcript)
 * Source  `@anthropic-ai/claude-agent-sdk` 0.3.330, `SessionStore`
 * @example
 * const sessionStore = claudeSessionStore(store, { fold: foldSessionSummary })
 * for await (const message of query({ prompt, options: { sessionStore } })) show(message)
 */
export const claudeSessionStore = (store: Store, options: ClaudeStoreOptions = {}): ClaudeSessionStore => {
  checkStore('claudeSessionStore', store)
  const { fold, canDelete = true } = optionsOf('claudeSessionStore', options, { fold: true, canDelete: true })
  const open = openTranscripts(store)
  const idOf = (key: ClaudeKey): string => logOf(key, store)
  const transcripts = (where: JsonObject): AsyncGenerator<SessionInfo> => listSessionsWhere(store, where)
  const entriesOf = async (key: ClaudeKey): Promise<ClaudeEntry[] | null> => {
    const session = await open(key).read()
    return session === undefined ? null : entriesIn(session, 0)
  }

  /** The summary of all lines: folds those not included yet, even those that another process appended. */
  const summarize = async (key: ClaudeKey, mtime: number): Promise<ClaudeSummary | undefined> => {
    for (;;) {
      const session = await open(key).read()
      if (session === undefined || fold === undefined) return undefined
      const known = summaryIn(session.metadata())
      const size = session.notes().length
      const before = known && { sessionId: key.sessionId, mtime, data: known.data }
      if (known?.folded === size) return before
      const summary = fold(before, key, entriesIn(session, known?.folded ?? 0), { mtime })
      const last = [...session.at().rows(-1)][0]?.at ?? mtime
      await session.update((metadata) => {
        if (session.notes().length !== size) return // another process has appended, and perhaps folded
        const data = JSON.parse(JSON.stringify(summary.data))
        metadata['summary'] = { data, folded: size + 1, mtime: Math.floor(last) } // folded: with the note of this change
      })
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
          const known = summaryIn(info.metadata)
          // Otherwise a process died between its append and its summary: fold it now.
          const summary =
            known?.folded === info.head.size - info.len
              ? { sessionId, mtime, data: known.data }
              : await summarize({ projectKey, sessionId }, mtime)
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

const markOf = ({ projectKey, sessionId, subpath }: ClaudeKey): SessionMark => ({
  [namespace]: { projectKey, sessionId, subpath: subpath ?? null },
})

const logOf = ({ projectKey, sessionId, subpath }: ClaudeKey, store: Store): string =>
  idOfParts([namespace, projectKey, sessionId, ...(subpath === undefined ? [] : [subpath])], store)

async function* listSessionsWhere(store: Store, where: JsonObject): AsyncGenerator<SessionInfo> {
  const read = { where: { [namespace]: where as Where }, limit: 1000 }
  for await (const { sessions } of pagesOf((from) => listSessions(store, { ...read, ...from }))) yield* sessions
}

// Safe cast: listed sessions are found by their mark.
const markIn = (metadata: JsonObject): JsonObject => metadata[namespace] as JsonObject

/** The time of the last line. If a summary was written behind it, the summary has that time. */
const mtimeOf = ({
  metadata,
  appended,
  head,
  len,
}: SessionInfo): { readonly sessionId: string; readonly mtime: number } => {
  const { summary } = metadata
  const time = isObject(summary) && summary['folded'] === head.size - len ? summary['mtime'] : undefined
  return {
    sessionId: String(markIn(metadata)['sessionId']),
    mtime: Math.floor(typeof time === 'number' ? time : appended),
  }
}

/** A summary, with the number of notes that it includes; undefined if there is none that `fold` can continue. */
const summaryIn = ({
  summary,
}: JsonObject): { readonly data: Record<string, unknown>; readonly folded: number } | undefined => {
  const { data, folded } = isObject(summary) ? summary : ({} as JsonObject)
  if (!isObject(data) || typeof folded !== 'number') return undefined
  return { data: structuredClone(data) as Record<string, unknown>, folded }
}

/** A line as stored. Values that JSON can't express (mostly unpaired surrogates) are tagged. */
const noteOf = (entry: ClaudeEntry): ApplicationNote => {
  const { value, tags } = plainOf(entry)
  const content: Json = tags.length === 0 ? value : { entry: value, tags: tags as unknown as Json }
  return { type: 'application', namespace: tags.length === 0 ? namespace : taggedNamespace, content }
}

const taggedNamespace = `${namespace}.tagged`

/** Lines as stored, from a note on. */
function* linesIn(session: SessionReader, from: number): Generator<{ readonly entry: Json; readonly tags: Json }> {
  for (const note of session.notes().slice(from)) {
    if (note.type !== 'application') continue
    if (note.namespace === namespace) yield { entry: note.content, tags: [] }
    // Safe cast: notes with this namespace come from `noteOf`.
    if (note.namespace === taggedNamespace) yield note.content as { readonly entry: Json; readonly tags: Json }
  }
}

const entriesIn = (session: SessionReader, from: number): ClaudeEntry[] =>
  Array.from(
    linesIn(session, from),
    ({ entry, tags }) => revivePlain(structuredClone(entry), tags as unknown as readonly Tag[]) as ClaudeEntry,
  )

/** The ids of a session's lines. Each handle reads each note once. */
const uuidsIn = (session: Session): ReadonlySet<unknown> => {
  const known = seenIds.get(session) ?? { ids: new Set<unknown>(), notes: 0 }
  for (const { entry } of linesIn(session, known.notes)) known.ids.add((entry as ClaudeEntry | null)?.uuid)
  known.notes = session.notes().length
  seenIds.set(session, known)
  return known.ids
}

const seenIds = new WeakMap<Session, { readonly ids: Set<unknown>; notes: number }>()

/** The parent ids that no line has. */
const missingIn = (entries: readonly ClaudeEntry[]): readonly string[] => {
  const there = new Set(entries.map(({ uuid }) => uuid))
  const named = entries.flatMap(({ parentUuid }) => (typeof parentUuid === 'string' ? [parentUuid] : []))
  return [...new Set(named)].filter((id) => !there.has(id))
}
