/** Keeps the sessions of this machine in a store: bytes first, rows after. */
import { dirname } from 'node:path'
import { isLeft, type JsonObject } from 'indelible/internal/json'
import { isErased } from 'indelible/message'
import type { Redactor } from 'indelible/redact'
import { openSession } from 'indelible/session'
import type { Store } from 'indelible/store'
import { faultMessage } from 'indelible'
import { redactTranscript, type Transcript } from '@indelible/transcripts'
import { deletesAfter, projectRoot, sourcesOf, type FoundFile, type Source } from '../sources/agent-sessions.ts'
import { unreadable } from '../sources/input.ts'
import { faultText } from '../sources/place.ts'
import { allSessions } from '../sources/sessions.ts'
import { Unreadable, type Terminal } from '../terminal/command.ts'
import { leftOutLines, tellReadLosses } from '../terminal/report.ts'
import { version } from '../terminal/version.ts'
import { erasedIn, type ErasedMessages } from './erased-messages.ts'
import {
  beginsWithOne,
  isKeptWhole,
  keepBytes,
  SessionGrew,
  type FileChange,
  type KeepingSession,
} from './file-bytes.ts'
import { keyOf, versionsIn } from './kept-files.ts'
import type { KeptState, RunFile } from './run-file.ts'
import { sessionIdIn, usableId } from './session-ids.ts'
import { keepSums } from 'indelible/internal/usage'
import { bringRows, type RowsResult } from './session-rows.ts'

/** A session on this machine: its file, or rows in a database, and what lies beside it. */
interface SessionFiles {
  readonly program: string
  /** Undefined for a file that no reader reads. */
  readonly source: Source | undefined
  /** All files of it, the session's own first. */
  readonly files: readonly FoundFile[]
}

/** What was kept of a program. */
export interface ProgramReport {
  readonly program: string
  readonly sessions: number
  /** The bytes of all files, and of those that are kept. */
  readonly bytes: number
  readonly keptBytes: number
  /** The number of files by what became of them. */
  readonly changes: { readonly [change: string]: number }
  /** The number of sessions whose rows can't be read yet, with the reasons of some. */
  readonly unread: readonly string[]
  /** The ids of sessions whose files were deleted since the last run. */
  readonly deleted: readonly string[]
  /** The days after which the program deletes, and the number of sessions that it will delete within a week. */
  readonly deletes: { readonly days: number; readonly soon: number } | undefined
  /** The ids of sessions that were removed, or whose bytes are not kept because messages were erased. */
  readonly skipped: readonly string[]
  /** What is not kept, with the reason. */
  readonly failures: readonly string[]
  /** Places that can't be read, and links to elsewhere. */
  readonly unreadPlaces: readonly string[]
  /** Each session that changed, with what was stored of it. */
  readonly stored: readonly RowsResult[]
}

export interface KeepOptions {
  readonly programs: readonly string[]
  /** Whether a path is left out. */
  readonly isExcluded: (path: string) => boolean
  readonly again: readonly string[]
  readonly redactor: Redactor | undefined
  /** Only say what would be kept. */
  readonly isDry: boolean
}

/** Sessions that are kept at the same time: their commits share a sync. */
const sessionsAtOnce = 64

/** The sessions of a program, each with what lies beside it. */
const sessionFilesOf = async (
  program: string,
  env: Terminal['env'],
  isExcluded: (path: string) => boolean,
): Promise<{ readonly sessions: readonly SessionFiles[]; readonly unread: readonly string[] }> => {
  const { sources, others, unread } = await sourcesOf(program, env)
  const beside = new Map<string, FoundFile[]>()
  const alone: SessionFiles[] = []
  const included = sources.filter(({ path }) => !isExcluded(path))
  const known = new Set(included.map(({ file }) => file))
  const folders = others.filter(({ owner }) => owner.endsWith('/'))
  for (const file of others.filter(({ path }) => !isExcluded(path))) {
    if (known.has(file.owner)) beside.set(file.owner, [...(beside.get(file.owner) ?? []), file])
    else if (file.owner === file.file) alone.push({ program, source: undefined, files: [file] })
  }
  const sessions = included.map((source) => ({
    program,
    source,
    files: [
      source,
      ...(beside.get(source.file) ?? []),
      ...folders.filter(({ owner }) => source.file.startsWith(owner)),
    ],
  }))
  return { sessions: [...sessions, ...alone], unread }
}

/** Keep what is new, and report it by program. */
export const keepSessions = async (
  store: Store,
  run: RunFile,
  options: KeepOptions,
  terminal: Terminal,
): Promise<readonly ProgramReport[]> => {
  const before = await statesIn(store, run)
  const erased = await erasedIn(store, options.again)
  const reports: ProgramReport[] = []
  for (const program of options.programs)
    reports.push(await keepProgram(store, run, before, erased, program, options, terminal))
  return reports
}

/** The states of files that the store still has: it may be an older one, or have lost sessions. */
const statesIn = async (store: Store, run: RunFile): Promise<Map<string, KeptState>> => {
  const states = run.files(store.scope)
  if (states.size === 0) return states
  const sizes = new Map<string, { readonly created: number; readonly size: number }>()
  for await (const { id, created, head } of allSessions(store)) sizes.set(id, { created, size: head.size })
  for (const [path, { session, created, rows }] of states) {
    const found = sizes.get(session)
    // A session that was skipped has no rows.
    if (rows > 0 && (found === undefined || found.created !== created || found.size < rows)) states.delete(path)
  }
  return states
}

/** A session while it is kept. */
interface Work extends SessionFiles {
  id: string
  changes: FileChange[]
  failure: string | undefined
  unread: string | undefined
  isSkipped: boolean
  /** The files that are kept as they are now. */
  kept: FoundFile[]
  /** Whether `kept` has their bytes, too. */
  hasBytes: boolean
  results: RowsResult[]
}

const keepProgram = async (
  store: Store,
  run: RunFile,
  before: ReadonlyMap<string, KeptState>,
  erased: ErasedMessages,
  program: string,
  options: KeepOptions,
  terminal: Terminal,
): Promise<ProgramReport> => {
  const { sessions, unread: unreadPlaces } = await sessionFilesOf(program, terminal.env, options.isExcluded)
  const isKept = ({ path, stamp }: FoundFile): boolean => {
    const state = before.get(path)
    if (state === undefined || options.again.includes(state.session)) return false
    return state.stamp === stampOf(stamp, options) && (state.unread === null || state.unread === version())
  }
  const news = sessions.filter(({ files }) => !files.every((file) => isKept(file)))
  const work: Work[] = news.map((session) => ({
    ...session,
    id: '',
    changes: [],
    failure: undefined,
    unread: undefined,
    isSkipped: false,
    kept: [],
    hasBytes: false,
    results: [],
  }))
  if (!options.isDry) {
    const bar = terminal.progress(`keeping the files of ${program}`, work.length, 'sessions')
    let done = 0
    await inParallel(work, async (item) => {
      item.id = before.get(item.files[0]?.path ?? '')?.session ?? (await sessionIdIn(item.files[0] as FoundFile))
      if (item.source === undefined) item.id = usableId(`${program}/${item.files[0]?.file}`)
      if (await isSkipped(store, item, erased, options)) item.isSkipped = true
      else if (options.redactor !== undefined) item.kept = [...item.files]
      else await keepUnlessErased(store, item, erased, isKept)
      bar.at(++done)
    })
    bar.end()
    const readable = work.filter((item) => item.source !== undefined && !item.isSkipped && item.source.isEmpty !== true)
    const rows = terminal.progress(`reading the messages of ${program}`, readable.length, 'sessions')
    done = 0
    await inParallel(readable, async (item) => {
      await keepRows(store, item, erased, options.redactor, terminal)
      rows.at(++done)
    })
    rows.end()
    await remember(store, run, work, options)
  }
  const states = options.isDry ? before : run.files(store.scope)
  const touched = new Set(options.isDry ? await touchedOnly(store, news, before) : [])
  const gone = goneFiles(program, sessions, states, options)
  if (!options.isDry)
    run.put(
      store.scope,
      gone.map((state) => ({ ...state, gone: 1 })),
    )
  // Also of sessions whose messages could not be stored, such as on a full disk.
  for (const { kept, hasBytes } of work) if (hasBytes) for (const { path } of kept) touched.add(path)
  const there = new Set(sessions.flatMap(({ files }) => files.map(({ path }) => states.get(path)?.session ?? '')))
  const days = deletesAfter(program, terminal.env)
  const soon = (days ?? 0) - 7
  const own = (session: SessionFiles): FoundFile => session.files[0] as FoundFile
  return {
    program,
    sessions: sessions.filter(({ source }) => source?.isEmpty !== true).length,
    bytes: sessions.reduce((sum, { files }) => sum + files.reduce((all, { size }) => all + size, 0), 0),
    keptBytes: sessions.reduce(
      (sum, { files }) =>
        sum +
        files.reduce(
          (all, file) => all + (states.get(file.path)?.stamp === file.stamp || touched.has(file.path) ? file.size : 0),
          0,
        ),
      0,
    ),
    changes: countOf(
      options.isDry
        ? news
            .filter(({ files }) => !files.every((file) => isKept(file) || touched.has(file.path)))
            .map((session) => (before.has(own(session).path) ? 'grown' : 'new'))
        : work.flatMap(({ changes }) => changes.filter((change, at) => at === 0 || change !== 'new')),
    ),
    unread: work.flatMap(({ unread, failure }) => (failure === undefined ? (unread ?? []) : [])),
    deleted: [...new Set(gone.filter(({ session }) => !there.has(session)).map(({ session }) => session))],
    deletes:
      days === undefined
        ? undefined
        : {
            days,
            soon: sessions.filter(
              (session) => session.source?.isEmpty === false && Date.now() - own(session).changed > soon * 86_400_000,
            ).length,
          },
    skipped: work.flatMap(({ isSkipped: skipped, id }) => (skipped ? [id] : [])),
    failures: work.flatMap(({ failure }) => failure ?? []),
    unreadPlaces,
    stored: work.flatMap(({ results }) => results),
  }
}

/** The files that have another time than when they were kept, as after `restore`, and the same bytes. */
const touchedOnly = async (
  store: Store,
  sessions: readonly SessionFiles[],
  before: ReadonlyMap<string, KeptState>,
): Promise<ReadonlySet<string>> => {
  const same = new Set<string>()
  await inParallel(sessions, async ({ program, files }) => {
    const id = before.get(files[0]?.path ?? '')?.session
    if (id === undefined) return
    try {
      const { versions } = await keepingSession(store, { id, program, files })
      for (const found of files)
        if (await isKeptWhole(found, versions.get(keyOf({ program, file: found.file })))) same.add(found.path)
    } catch {
      // The run that keeps them reports it.
    }
  })
  return same
}

/** The stamp to remember. Bytes that a redaction left out are kept by the next run without one. */
const stampOf = (stamp: string, { redactor }: KeepOptions): string =>
  redactor === undefined ? stamp : `redacted ${stamp}`

const countOf = (changes: readonly string[]): ProgramReport['changes'] =>
  Object.fromEntries([...Map.groupBy(changes, (change) => change)].map(([change, all]) => [change, all.length]))

export const inParallel = async <T>(all: readonly T[], work: (item: T) => Promise<void>): Promise<void> => {
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < all.length) await work(all[next++] as T)
  }
  await Promise.all(Array.from({ length: sessionsAtOnce }, worker))
}

/** Whether the session was removed and is not there again. */
const isSkipped = async (
  store: Store,
  { id, files }: Work,
  erased: ErasedMessages,
  { again }: KeepOptions,
): Promise<boolean> => {
  const [file] = files
  if (again.includes(id)) return false
  if (!erased.isRemoved(id) && (file === undefined || erased.removedFiles.length === 0)) return false
  const found = await store.info(id)()
  if (!isLeft(found) || found.left._tag !== 'NoSuchLog') return false
  if (erased.isRemoved(id) || file === undefined) return erased.isRemoved(id)
  return beginsWithOne(file, erased.removedFiles).catch(() => false) // what can't be read is reported when it is kept
}

/**
 * Whether the files of a session have the text of messages that were erased, in it or in one that has the same messages. Of what
 * can't be read nobody knows.
 */
const erasedTextIn = async (
  store: Store,
  { id, program, source }: Work,
  erased: ErasedMessages,
): Promise<'nothing' | 'perhaps' | 'erased'> => {
  const opened = await openSession(store, id)()
  if (!isLeft(opened)) {
    const { right: session } = opened
    const has =
      [...session.notes()].some((note) => note.type === 'erased' && note.was === 'kept_file') ||
      [...session.view()].some((message) => isErased(message as Parameters<typeof isErased>[0]))
    if (session.state === 'open') await session.close()()
    if (has) return 'erased'
  }
  const unread = erased.isOfProgram(program) ? 'perhaps' : 'nothing'
  if (source === undefined) return unread
  let isWhole = true
  for (let [pick, count] = [0, 1]; pick < count; pick++) {
    const read = await source.read(pick)
    if (isLeft(read)) return unread
    if (source.isSingle !== true) count = read.right.count
    if (erased.positionsIn(read.right, Math.round(source.changed)).size > 0) return 'erased'
    isWhole &&= read.right.damage.length === 0
  }
  return isWhole ? 'nothing' : unread
}

/** Keep the files of a session, unless they have, or may have, the text of erased messages. */
const keepUnlessErased = async (
  store: Store,
  item: Work,
  erased: ErasedMessages,
  isKept: (file: FoundFile) => boolean,
): Promise<void> => {
  const path = item.files[0]?.path
  try {
    const has = erased.isEmpty ? 'nothing' : await erasedTextIn(store, item, erased)
    if (has === 'erased') item.kept = [...item.files]
    else if (has === 'nothing' || (await continuesKept(store, item))) await keepFiles(store, item, isKept)
    else
      item.failure = `${path}: it has lines that can't be read, perhaps with text that you erased: its bytes are not kept`
  } catch (error) {
    item.failure = `${path}: ${reasonOf(error)}`
  }
}

/** Whether a session's own file begins with the bytes that are kept of it, and so do the others if any are. */
const continuesKept = async (store: Store, item: Work): Promise<boolean> => {
  try {
    const { versions } = await keepingSession(store, item)
    for (const [at, found] of item.files.entries()) {
      const kept = versions.get(keyOf({ program: item.program, file: found.file }))
      if (kept === undefined ? at === 0 : !(await beginsWithOne(found, [`${kept.to} ${kept.digest}`]))) return false
    }
    return true
  } catch {
    return false
  }
}

const keepFiles = async (store: Store, item: Work, isKept: (file: FoundFile) => boolean): Promise<void> => {
  for (let attempt = 1; ; attempt++) {
    let failed: FoundFile | undefined
    try {
      const session = await keepingSession(store, item)
      item.changes = []
      item.kept = []
      item.hasBytes = true
      for (const file of item.files) {
        failed = file
        if (isKept(file) && session.head !== undefined) item.kept.push(file)
        else {
          const change = await keepBytes(session, item.program, file)
          if (change !== 'same') item.changes.push(change)
          item.kept.push(file)
        }
      }
      return
    } catch (error) {
      if (error instanceof SessionGrew && attempt < mostAttempts) continue
      const reason =
        error instanceof SessionGrew ? 'other processes append to its session all the time' : reasonOf(error)
      item.failure = `${failed?.path ?? item.files[0]?.path}: ${reason}`
      return
    }
  }
}

const mostAttempts = 10

/** Why a file or a session is not kept. One that this command fails on must not keep the others from being kept. */
export const reasonOf = (error: unknown): string => {
  if (error instanceof Unreadable) return error.message
  const { code, errcode } = error as NodeJS.ErrnoException & { readonly errcode?: number }
  if (errcode !== undefined) return `SQLite can't read it: ${(error as Error).message}`
  return code === undefined
    ? `this command failed on it: ${String(error)}`
    : unreadable('', error).message.replace(/^: /, '')
}

/** The metadata of a new session; with its project's folder, if a file beside it names that (Gemini CLI). */
const importMetadata = (program: string, path: string): JsonObject => {
  const cwd = projectRoot(dirname(dirname(path)))
  return { import: { program, path }, ...(cwd !== undefined && { cwd }) }
}

const keepingSession = async (
  store: Store,
  { id, program, files }: Pick<Work, 'id' | 'program' | 'files'>,
): Promise<KeepingSession> => {
  const metadata = importMetadata(program, files[0]?.path ?? '')
  const opened = await openSession(store, id)()
  if (isLeft(opened)) {
    if (opened.left._tag !== 'NoSuchLog') throw new Unreadable(faultText(opened.left))
    return { store, id, metadata, head: undefined, versions: new Map() }
  }
  const session = opened.right
  if (session.state !== 'open')
    throw new Unreadable(`its session ${JSON.stringify(id)} is sealed and takes no more appends`)
  const versions = new Map<string, { readonly to: number; readonly digest: string }>()
  for (const [key, all] of versionsIn(session.notes())) versions.set(key, all.at(-1) as { to: number; digest: string })
  const head = session.head()
  await session.close()
  return { store, id, metadata, head, versions }
}

/** Bring each conversation of a source up to date. */
const keepRows = async (
  store: Store,
  item: Work,
  erased: ErasedMessages,
  redactor: Redactor | undefined,
  terminal: Terminal,
): Promise<void> => {
  const { program, source, id } = item
  if (source === undefined) return
  try {
    item.results = [...(await rowsOfSource(store, program, source, id, erased, redactor, terminal))]
  } catch (error) {
    if (error instanceof UnreadFormat) item.unread = `${source.path}: ${error.message}`
    else {
      item.failure ??= `${item.hasBytes ? 'the messages of ' : ''}${source.path}${item.hasBytes ? ', whose bytes are kept' : ''}: ${reasonOf(error)}`
    }
    if (redactor !== undefined) item.failure ??= `${source.path}: ${(error as Error).message}`
  }
}

/** No reader reads the source: its bytes are kept. */
export class UnreadFormat extends Error {}

/** Bring each conversation of a source up to date, the first under the given id. Throws UnreadFormat, or Unreadable. */
export const rowsOfSource = async (
  store: Store,
  program: string,
  source: Source,
  id: string,
  erased: ErasedMessages,
  redactor: Redactor | undefined,
  terminal: Pick<Terminal, 'tell' | 'columns'>,
): Promise<readonly RowsResult[]> => {
  const results: RowsResult[] = []
  let count = 1
  for (let pick = 0; pick < count; pick++) {
    const read = await source.read(pick).catch((error: unknown) => {
      throw unreadable(source.path, error)
    })
    if (isLeft(read)) throw new UnreadFormat(faultMessage(read.left))
    // A database has a source for each of its conversations.
    if (source.isSingle !== true) count = read.right.count
    const transcript: Transcript = redactor === undefined ? read.right : redactTranscript(read.right, redactor)
    if (transcript.damage.length > 0) terminal.tell(leftOutLines(source.path, transcript.damage))
    if (transcript.messages.length === 0) {
      if (pick === 0 && transcript.damage.length > 0) throw new UnreadFormat('none of its lines can be read')
      continue
    }
    const done = await bringRows(
      store,
      pick === 0 ? id : `${id}.${pick}`,
      transcript,
      importMetadata(program, source.path),
      erased,
      Math.round(source.changed),
    )
    if (done.done !== 'unchanged' && done.done !== 'removed') await keepSums(store, done.id)()
    if (done.done !== 'unchanged') tellReadLosses(done.id, transcript.losses, terminal as Terminal)
    results.push(done)
  }
  return results
}

/** Write down what is kept now. */
const remember = async (store: Store, run: RunFile, work: readonly Work[], options: KeepOptions): Promise<void> => {
  const states: KeptState[] = []
  for (const { program, id, kept, files, failure, unread, isSkipped: skipped } of work) {
    if (failure !== undefined) continue
    const found = skipped ? undefined : await store.info(id)()
    const [created, rows] = found === undefined || isLeft(found) ? [0, 0] : [found.right.created, found.right.head.size]
    for (const { path, file, stamp } of skipped ? files : kept)
      states.push({
        program,
        path,
        file,
        stamp: stampOf(stamp, options),
        session: id,
        created,
        rows,
        unread: unread === undefined ? null : version(),
        gone: 0,
      })
  }
  run.put(store.scope, states)
}

/** The files of a program that were kept, are not there any more, and were not reported yet. */
const goneFiles = (
  program: string,
  sessions: readonly SessionFiles[],
  states: ReadonlyMap<string, KeptState>,
  { isExcluded }: KeepOptions,
): readonly KeptState[] => {
  const there = new Set(sessions.flatMap(({ files }) => files.map(({ path }) => path)))
  return [...states.values()].filter(
    (state) => state.program === program && state.gone === 0 && !there.has(state.path) && !isExcluded(state.path),
  )
}
