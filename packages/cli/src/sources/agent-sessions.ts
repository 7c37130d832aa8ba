/** The folders in which agents keep their sessions on this machine, and how to read them. */
import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  type Dirent,
  type Stats,
} from 'node:fs'
import { realpath, readFile } from 'node:fs/promises'
import { basename, isAbsolute, join, relative, sep } from 'node:path'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, isObject, left, parseJson, right, type JsonObject } from 'indelible/internal/json'
import type { TranscriptFault } from 'indelible/codecs'
import { readTranscript, readTranscriptStream, type Transcript, type TranscriptEvent } from '@indelible/transcripts'
import { assembleTranscript } from '@indelible/transcripts/internal'
import { withResultFiles } from './claude-results.ts'
import { bytesOfFile } from './codex-base.ts'
import { callsOfOriginal } from './copied-from.ts'
import type { Terminal } from '../terminal/command.ts'
import { homeOf } from './home.ts'
import { unreadable } from './input.ts'
import { unreadTableText } from '../terminal/report.ts'

/** A file of a program, or the rows of a session in its database. */
export interface FoundFile {
  readonly path: string
  /** The path below the program's folder, with `/`; of rows `opencode.db#ID`. */
  readonly file: string
  /** Changes with the content. */
  readonly stamp: string
  /** In milliseconds since 1970. */
  readonly changed: number
  /** In bytes; 0 for rows. */
  readonly size: number
  /** The rows of a session in a database, as lines of JSON. */
  readonly rows?: () => Uint8Array
}

/** One source of conversations: a file, or a session in a database. */
export interface Source extends FoundFile {
  /** Whether it is a file without content, as of a session that just began. */
  readonly isEmpty?: boolean
  /** Whether it is one conversation: a file can have several. */
  readonly isSingle?: boolean
  /** Whether it is in the tables of a later version of the program. */
  readonly isLater?: boolean
  readonly read: (pick: number) => Promise<Either<TranscriptFault, Transcript>>
}

type Env = Terminal['env']

interface Place {
  readonly folder: (env: Env) => string
  /** Matches the files' paths in the folder, with `/` as the separator. */
  readonly files: RegExp
  /** Matches the names of databases in the folder. */
  readonly databases?: RegExp
  /** The folders below it that are searched, and whose files are kept. Default: the whole folder. */
  readonly roots?: readonly string[]
  /** Files that lie beside a session: what matches them, and the path of the session, or the start of several paths. */
  readonly beside?: readonly (readonly [file: RegExp, owner: string])[]
  /** Files that the program makes again from its sessions, such as an index. */
  readonly ignored?: RegExp
  /** After how many days without a change the program deletes a session. */
  readonly deletesAfter?: (env: Env) => number | undefined
}

/** Claude Code's days from its settings; else its default. Source: code.claude.com/docs/en/settings (2026-11) */
const claudeDays = (env: Env): number => {
  const days = settingsIn(join(inHome('CLAUDE_CONFIG_DIR', '.claude')(env), 'settings.json'))['cleanupPeriodDays']
  return typeof days === 'number' && days >= 0 ? days : 30
}

const inHome =
  (variable: string, ...path: readonly string[]) =>
  (env: Env): string =>
    env[variable] || join(homeOf(env), ...path)

const inData =
  (name: string) =>
  (env: Env): string =>
    join(env['XDG_DATA_HOME'] || join(homeOf(env), '.local', 'share'), name)

/**
 * The folders of the agents' files.
 *
 * Source  their documentation and source (2026-09): code.claude.com/docs/en/sessions; openai/codex, rollout/src/recorder.rs;
 *         google-gemini/gemini-cli, chatRecordingService.ts; badlogic/pi-mono, docs/session.md
 */
const places: { readonly [program: string]: Place } = {
  'claude-code': {
    folder: inHome('CLAUDE_CONFIG_DIR', '.claude'),
    files: /^projects\/(?:.+\/)?(?!journal\.jsonl$)[^/]+\.jsonl$/,
    roots: ['projects'],
    beside: [[/^(projects\/[^/]+\/[^/]+)\/.+$/, '$1.jsonl']],
    deletesAfter: claudeDays,
  },
  codex: {
    folder: inHome('CODEX_HOME', '.codex'),
    files: /^(?:archived_)?sessions\/(?:.+\/)?rollout-[^/]+\.jsonl(?:\.zst)?$/,
    roots: ['sessions', 'archived_sessions'],
  },
  gemini: {
    folder: (env) => join(env['GEMINI_CLI_HOME'] || homeOf(env), '.gemini'),
    files: /^tmp\/[^/]+\/chats\/.+\.jsonl?$/,
    roots: ['tmp'],
    beside: [[/^(tmp\/[^/]+\/)\.project_root$/, '$1chats/']],
    deletesAfter: () => 30,
  },
  pi: { folder: (env) => piFolder(env), files: /\.jsonl$/ },
  amp: { folder: inData('amp'), files: /^threads\/T-[^/]+\.json$/, roots: ['threads'] },
  cline: {
    folder: (env) => join(env['XDG_CONFIG_HOME'] || join(homeOf(env), '.config'), 'Code', 'User', 'globalStorage'),
    files:
      /^(?:saoudrizwan\.claude-dev|rooveterinaryinc\.roo-cline|kilocode\.kilo-code)\/tasks\/[^/]+\/api_conversation_history\.json$/,
    roots: ['saoudrizwan.claude-dev/tasks', 'rooveterinaryinc.roo-cline/tasks', 'kilocode.kilo-code/tasks'],
    beside: [[/^([^/]+\/tasks\/[^/]+\/).+$/, '$1api_conversation_history.json']],
  },
  // Cline 3, whose sessions are apart from those of the extension.
  'cline-cli': {
    folder: inHome('CLINE_DIR', '.cline'),
    files: /^data\/sessions\/[^/]+\/[^/]+\.messages\.json$/,
    roots: ['data/sessions'],
    beside: [[/^(data\/sessions\/[^/]+\/)([^/]+)\.json$/, '$1$2.messages.json']],
  },
  copilot: {
    folder: inHome('COPILOT_HOME', '.copilot'),
    files: /^session-state\/(?:[^/]+\/events|[^/]+)\.jsonl$/,
    roots: ['session-state'],
    beside: [[/^(session-state\/[^/]+\/).+$/, '$1events.jsonl']],
  },
  droid: {
    folder: (env) => join(homeOf(env), '.factory'),
    files: /^sessions\/.+\.jsonl$/,
    roots: ['sessions'],
    beside: [[/^(sessions\/.+)\.settings\.json(?:\.bak)?$/, '$1.jsonl']],
  },
  goose: {
    folder: inData('goose'),
    files: /^sessions\/[^/]+\.jsonl$/,
    databases: /^sessions\/sessions\.db$/,
    roots: ['sessions'],
  },
  kimi: {
    folder: inHome('KIMI_CODE_HOME', '.kimi-code'),
    files: /^sessions\/.+\/(?:wire|context)\.jsonl$/,
    roots: ['sessions'],
    beside: [[/^(sessions\/[^/.][^/]*\/[^/]+\/)(?!agents\/).+$/, '$1agents/main/wire.jsonl']],
    ignored: /^sessions\/\.index-/,
  },
  qwen: {
    folder: inHome('QWEN_HOME', '.qwen'),
    files: /^(?:projects|tmp)\/[^/]+\/chats\/.+\.jsonl$/,
    roots: ['projects', 'tmp'],
  },
}

/** Whether pi keeps the sessions of each project in its own folder, as it does by default. */
export const isByProject = (env: Env): boolean => piFolder(env) === join(piAgentFolder(env), 'sessions')

/**
 * The folder of pi's sessions: from its environment, its settings, or the default. Source: pi
 * 0.87.1, docs/configuration.md
 */
const piFolder = (env: Env): string => {
  const agent = piAgentFolder(env)
  const own = env['PI_CODING_AGENT_SESSION_DIR'] || settingIn(join(agent, 'settings.json'), 'sessionDir')
  const folder = own === undefined ? join(agent, 'sessions') : inUserHome(own, env)
  return isAbsolute(folder) ? folder : join(agent, folder)
}

/** The folder of pi's settings. */
export const piAgentFolder = (env: Env): string =>
  inUserHome(env['PI_CODING_AGENT_DIR'] || join(homeOf(env), '.pi', 'agent'), env)

const inUserHome = (path: string, env: Env): string =>
  path === '~' || path.startsWith('~/') ? join(homeOf(env), path.slice(1)) : path

/** A text field of a JSON settings file; undefined if there is none. */
export const settingIn = (path: string, name: string): string | undefined => {
  const value = settingsIn(path)[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** The content of a JSON settings file; empty if it is missing or unreadable. */
export const settingsIn = (path: string): JsonObject => {
  try {
    const parsed = parseJson(readFileSync(path, 'utf8'))
    return isLeft(parsed) || !isObject(parsed.right) ? {} : parsed.right
  } catch {
    return {}
  }
}

/** The programs whose sessions can be found. */
export const programs: readonly string[] = [...Object.keys(places), 'opencode'].toSorted()

/** Whether a program has a file of this path below its folder, as one of a session or beside one. */
export const isOwnFile = (program: string, file: string): boolean => {
  const place = places[program]
  if (place === undefined)
    return program === 'opencode' && /^storage\/(?:session|message|part)\/[^/]+\/[^/]+\.json$/.test(file)
  const { files, beside = [], roots = ['.'] } = place
  return (
    files.test(file) ||
    beside.some(([matches]) => matches.test(file)) ||
    (isOfSessions.test(file) && roots.some((root) => file.startsWith(`${root}/`)))
  )
}

/** Matches files that may be sessions of a later version. */
const isOfSessions = /\.(?:jsonl?|ndjson)(?:\.(?:zst|gz))?$/

/** The path of a database of opencode, if a kept file `NAME.db#ID` names one of its own; undefined if not. */
export const ownDatabase = (program: string, file: string, env: Env): string | undefined => {
  const [, name] = /^(opencode(?:-[\w.-]+)?\.db)#[^/]+$/.exec(file) ?? []
  if (program !== 'opencode' || name === undefined) return undefined
  const named = env['OPENCODE_DB'] || name
  return isAbsolute(named) ? named : join(folderOf(program, env), named)
}

/** The name of a program as its users know it. */
export const titleOf = (program: string): string => titles[program] ?? program

const titles: { readonly [program: string]: string } = {
  'claude-code': 'Claude Code',
  codex: 'Codex',
  gemini: 'Gemini CLI',
  amp: 'Amp',
  cline: 'Cline',
  'cline-cli': 'Cline CLI',
  copilot: 'Copilot CLI',
  droid: 'Droid',
  goose: 'Goose',
  kimi: 'Kimi',
  qwen: 'Qwen Code',
}

/** The folder in which a program keeps its sessions. */
export const folderOf = (program: string, env: Env): string =>
  places[program]?.folder(env) ?? join(env['XDG_DATA_HOME'] || join(homeOf(env), '.local', 'share'), 'opencode')

/** The days after which a program deletes a session that nobody changed. */
export const deletesAfter = (program: string, env: Env): number | undefined => places[program]?.deletesAfter?.(env)

interface Found {
  /** The sources, last changed last. */
  readonly sources: readonly Source[]
  /** The other files: what lies beside a session, and what no reader reads, which owns itself. */
  readonly others: readonly (FoundFile & { readonly owner: string })[]
  /** The folders and files that can't be read, with reasons. */
  readonly unread: readonly string[]
}

export const sourcesOf = async (program: string, env: Env): Promise<Found> => {
  const folder = folderOf(program, env)
  const place = places[program]
  const unread: string[] = []
  if (place !== undefined) {
    const { sources, others } = await filesIn(program, folder, place, unread)
    return { sources: sources.toSorted((a, b) => a.changed - b.changed), others, unread }
  }
  const databases = await databasesIn(folder, env, unread)
  const found = (await Promise.all(databases.map((path) => inDatabase(program, folder, path, unread)))).flat()
  const known = new Set(found.map(({ path }) => path.slice(path.indexOf('#') + 1)))
  const { sources, others } = filesOfStorage(folder, unread)
  const older = sources.filter(({ path }) => !known.has(basename(path, '.json')))
  return { sources: [...found, ...older].toSorted((a, b) => a.changed - b.changed), others, unread }
}

/**
 * The databases of opencode: the one in its environment, or those of all its channels.
 *
 * Source  opencode 1.18.33, packages/opencode/src/storage/db.ts
 */
const databasesIn = async (folder: string, env: Env, unread: string[]): Promise<readonly string[]> => {
  const named = env['OPENCODE_DB']
  if (named === ':memory:') return []
  if (named) return [isAbsolute(named) ? named : join(folder, named)]
  const entries = entriesOf(folder, unread)
  return entries.flatMap(({ name }) => {
    const path = join(folder, name)
    return /^opencode(?:-[\w.-]+)?\.db$/.test(name) && isInside(folder, path, unread) ? [path] : []
  })
}

/** Whether a file or folder is in a folder, or can't be reached. A link to somewhere else is named in `unread`. */
const isInside = (folder: string, path: string, unread: string[]): boolean => {
  let real: string
  let base: string
  try {
    base = realpathSync.native(folder)
    real = realpathSync.native(path)
  } catch {
    return true
  }
  if (real.startsWith(base.endsWith(sep) ? base : base + sep)) return true
  unread.push(`${path}: is a link to ${real}, which is not in ${folder}`)
  return false
}

/**
 * The files of a program. A link is followed inside the program's folder, and a file with several names is read once.
 * A link to somewhere else is named.
 */
const filesIn = async (
  program: string,
  folder: string,
  { files, databases, roots = ['.'], beside = [], ignored }: Place,
  unread: string[],
): Promise<Pick<Found, 'sources' | 'others'>> => {
  const sources: Source[] = []
  const others: Found['others'][number][] = []
  const seen = new Set<string>()
  const base = await realpath(folder).catch(() => folder)
  const found: { readonly path: string; readonly file: string; readonly stats: Stats }[] = []
  const walk = (steps: readonly string[], real: string): void => {
    const entries = entriesOf(join(folder, ...steps), unread)
    // Files before the links to them.
    for (const entry of entries.toSorted((a, b) => Number(a.isSymbolicLink()) - Number(b.isSymbolicLink()))) {
      const inner = [...steps, entry.name]
      visit(inner, entry.isSymbolicLink(), join(real, entry.name))
    }
  }
  const visit = (inner: readonly string[], isLink: boolean, own: string): void => {
    const path = join(folder, ...inner)
    const stats = statsOf(path)
    if (stats === undefined) {
      // Another file was removed in the meantime.
      if (isLink) unread.push(`${path}: is a link to something that can't be read`)
      return
    }
    const real = isLink ? realpathSync(path) : own
    if (isLink && real !== base && !real.startsWith(base.endsWith(sep) ? base : base + sep)) {
      unread.push(`${path}: is a link to ${real}, which is not in ${folder}`)
      return
    }
    if (seen.has(real) || (stats.isDirectory() ? inner.length > deepest : !stats.isFile())) return
    seen.add(real)
    if (stats.isDirectory()) walk(inner, real)
    else found.push({ path, file: inner.join('/'), stats })
  }
  const top = new Map(entriesOf(folder, unread).map((entry) => [entry.name, entry]))
  for (const root of roots) {
    const steps = root === '.' ? [] : root.split('/')
    if (root === '.') walk([], base)
    else if (top.has(steps[0] ?? '') && statsOf(join(folder, ...steps)) !== undefined)
      visit(steps, lstatSync(join(folder, ...steps)).isSymbolicLink(), join(base, ...steps))
    else if (top.get(root)?.isSymbolicLink() === true)
      unread.push(`${join(folder, root)}: is a link to something that can't be read`)
  }
  for (const { path, file, stats } of found) {
    if (ignored?.test(file) === true) continue
    const { size, mtimeMs: changed } = stats
    const own = { path, file, stamp: stampOf(stats), changed, size }
    if (databases?.test(file) === true)
      for (const source of await inDatabase(program, folder, path, unread)) sources.push(source)
    else if (files.test(file)) sources.push({ ...own, isEmpty: size === 0, read: (pick) => readFileAt(path, pick) })
    else {
      const rule = beside.find(([matches]) => matches.test(file))
      if (rule !== undefined) others.push({ ...own, owner: file.replace(rule[0], rule[1]) })
      else if (roots[0] !== '.' && isOfSessions.test(file)) others.push({ ...own, owner: file })
    }
  }
  return { sources, others }
}

/** The sessions that opencode kept as JSON files, before its database: `session/PROJECT/ID.json`, `message`, `part`. */
const filesOfStorage = (root: string, unread: string[]): Pick<Found, 'sources' | 'others'> => {
  const folder = join(root, 'storage')
  const sources: Source[] = []
  const others: Found['others'][number][] = []
  if (!existsSync(join(folder, 'session'))) return { sources, others }
  const jsonIn = (...steps: readonly string[]): readonly FoundFile[] =>
    (isInside(root, join(folder, ...steps), unread) ? entriesOf(join(folder, ...steps), unread) : [])
      .filter(
        (entry) =>
          entry.name.endsWith('.json') &&
          (!entry.isSymbolicLink() || isInside(root, join(folder, ...steps, entry.name), unread)),
      )
      .map(({ name }) => foundAt(root, join(folder, ...steps, name)))
      .filter((found) => found !== undefined)
      .toSorted((a, b) => (a.path < b.path ? -1 : 1))
  if (!isInside(root, join(folder, 'session'), unread)) return { sources, others }
  for (const { name: project } of entriesOf(join(folder, 'session'), unread))
    for (const session of jsonIn('session', project)) {
      const messages = jsonIn('message', basename(session.path, '.json'))
      const parts = messages.flatMap(({ path }) => jsonIn('part', basename(path, '.json')))
      const changed = messages.reduce((latest, file) => Math.max(latest, file.changed), session.changed)
      const read = async (): Promise<Either<TranscriptFault, Transcript>> => {
        const texts: string[] = []
        for (const { path } of [session, ...messages, ...parts]) texts.push(await readFile(path, 'utf8'))
        return readTranscript(texts.join('\n'))
      }
      sources.push({ ...session, changed, isSingle: true, read })
      for (const file of [...messages, ...parts]) others.push({ ...file, owner: session.file })
    }
  return { sources, others }
}

/** Undefined for what is gone, or can't be reached. */
const statsOf = (path: string): Stats | undefined => {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** A file by its path; undefined if it is gone or no file. */
const foundAt = (folder: string, path: string): FoundFile | undefined => {
  const stats = statsOf(path)
  if (stats?.isFile() !== true) return undefined
  const { size, mtimeMs: changed } = stats
  return { path, file: relative(folder, path).split(sep).join('/'), stamp: stampOf(stats), changed, size }
}

/** Changes with the content of a file: its time can be set back, the time of that can't. */
const stampOf = ({ size, mtimeMs, ctimeMs }: Stats): string => `${size} ${mtimeMs} ${ctimeMs}`

/** The deepest level of an agent's files below its folder. */
const deepest = 8

const entriesOf = (folder: string, unread: string[]): readonly Dirent[] => {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') unread.push(unreadable(folder, error).message)
    return []
  }
}

const readFileAt = async (path: string, pick: number): Promise<Either<TranscriptFault, Transcript>> => {
  const events: TranscriptEvent[] = []
  const countedElsewhere = await callsOfOriginal(path)
  const options = { pick, ...(countedElsewhere && { countedElsewhere }) }
  for await (const event of readTranscriptStream(bytesOfFile(path), options)) events.push(event)
  const read = assembleTranscript(events)
  return isLeft(read) ? read : right(await withResultFiles(path, read.right))
}

const inDatabase = async (
  program: string,
  folder: string,
  path: string,
  unread: string[],
): Promise<readonly Source[]> => {
  const found = foundAt(folder, path)
  if (found === undefined) return []
  const { openTranscriptDatabase, readTranscriptDatabase } = await import('@indelible/transcripts/sqlite')
  const { idsIn, rowsIn } = await import('./database-rows.ts')
  const opened = openTranscriptDatabase(path)
  if (isLeft(opened)) return [{ ...found, isSingle: true, read: async () => opened }]
  const { conversations, unread: tables } = opened.right
  opened.right.close()
  for (const [table, rows] of Object.entries(tables))
    unread.push(`${program}: ${path}: ${unreadTableText(table, rows)}`)
  const source = (id: string, own: Pick<Source, 'read'> & Partial<Source>): Source => ({
    ...{ path: `${path}#${id}`, file: `${found.file}#${id}`, stamp: found.stamp, changed: found.changed, size: 0 },
    isSingle: true,
    rows: () => rowsIn(path, id),
    ...own,
  })
  const unreadTable = left({ _tag: 'UnknownFormat', found: 'a session in tables of a newer version' } as const)
  const known = new Set(conversations.map(({ id }) => id))
  return [
    ...conversations.map(({ id, updated, isLater = false }, pick) =>
      source(id, {
        stamp: updated,
        changed: Number(updated) || Date.parse(updated) || 0,
        isLater,
        read: async () => readTranscriptDatabase(path, { pick }),
      }),
    ),
    ...idsIn(path)
      .filter((id) => !known.has(id))
      .map((id) => source(id, { read: async () => unreadTable })),
  ]
}

/** The project that a Gemini CLI folder belongs to. */
export const projectRoot = (folder: string): string | undefined => {
  try {
    return readFileSync(join(folder, '.project_root'), 'utf8').trim()
  } catch {
    return undefined
  }
}
