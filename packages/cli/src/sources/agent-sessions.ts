/** The folders in which agents keep their sessions on this machine, and how to read them. */
import { existsSync, readFileSync, type Dirent } from 'node:fs'
import { readdir, realpath, readFile, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, isAbsolute, join } from 'node:path'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, isObject, parseJson, right, type JsonObject } from 'indelible/internal/json'
import type { TranscriptFault } from 'indelible/codecs'
import { readTranscript, readTranscriptStream, type Transcript, type TranscriptEvent } from '@indelible/transcripts'
import { assembleTranscript } from '@indelible/transcripts/internal'
import { withResultFiles } from './claude-results.ts'
import { bytesOfFile } from './codex-base.ts'
import { callsOfOriginal } from './copied-from.ts'
import type { Terminal } from '../terminal/command.ts'
import { unreadable } from './input.ts'
import { unreadTableText } from '../terminal/report.ts'

/** One source of conversations: a file, or a session in a database. */
export interface Source {
  readonly path: string
  /** Changes with the conversations. */
  readonly stamp: string
  /** In milliseconds since 1970. */
  readonly changed: number
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
}

export const homeOf = (env: Env): string => env['HOME'] || homedir()
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
  },
  codex: {
    folder: inHome('CODEX_HOME', '.codex'),
    files: /^(?:archived_)?sessions\/(?:.+\/)?rollout-[^/]+\.jsonl(?:\.zst)?$/,
  },
  gemini: {
    folder: (env) => join(env['GEMINI_CLI_HOME'] || homeOf(env), '.gemini'),
    files: /^tmp\/[^/]+\/chats\/.+\.jsonl?$/,
  },
  pi: { folder: (env) => piFolder(env), files: /\.jsonl$/ },
  amp: { folder: inData('amp'), files: /^threads\/T-[^/]+\.json$/ },
  cline: {
    folder: (env) => join(env['XDG_CONFIG_HOME'] || join(homeOf(env), '.config'), 'Code', 'User', 'globalStorage'),
    files:
      /^(?:saoudrizwan\.claude-dev|rooveterinaryinc\.roo-cline|kilocode\.kilo-code)\/tasks\/[^/]+\/api_conversation_history\.json$/,
  },
  copilot: {
    folder: inHome('COPILOT_HOME', '.copilot'),
    files: /^session-state\/(?:[^/]+\/events|[^/]+)\.jsonl$/,
  },
  droid: { folder: (env) => join(homeOf(env), '.factory'), files: /^sessions\/.+\.jsonl$/ },
  goose: { folder: inData('goose'), files: /^sessions\/[^/]+\.jsonl$/, databases: /^sessions\/sessions\.db$/ },
  kimi: {
    folder: inHome('KIMI_CODE_HOME', '.kimi-code'),
    files: /^sessions\/.+\/(?:wire|context)\.jsonl$/,
  },
  qwen: { folder: inHome('QWEN_HOME', '.qwen'), files: /^(?:projects|tmp)\/[^/]+\/chats\/.+\.jsonl$/ },
}

/** Whether pi keeps the sessions of each project in its own folder, as it does by default. */
export const isByProject = (env: Env): boolean =>
  piFolder(env) === join(inUserHome(env['PI_CODING_AGENT_DIR'] || join(homeOf(env), '.pi', 'agent'), env), 'sessions')

/**
 * The folder of pi's sessions: from its environment, its settings, or the default. Source: pi
 * 0.87.1, docs/configuration.md
 */
const piFolder = (env: Env): string => {
  const agent = inUserHome(env['PI_CODING_AGENT_DIR'] || join(homeOf(env), '.pi', 'agent'), env)
  const own = env['PI_CODING_AGENT_SESSION_DIR'] || settingIn(join(agent, 'settings.json'), 'sessionDir')
  const folder = own === undefined ? join(agent, 'sessions') : inUserHome(own, env)
  return isAbsolute(folder) ? folder : join(agent, folder)
}

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

/** The folder in which a program keeps its sessions. */
export const folderOf = (program: string, env: Env): string =>
  places[program]?.folder(env) ?? join(env['XDG_DATA_HOME'] || join(homeOf(env), '.local', 'share'), 'opencode')

export interface Found {
  /** The sources, last changed last. */
  readonly sources: readonly Source[]
  /** The folders and files that can't be read, with reasons. */
  readonly unread: readonly string[]
}

export const sourcesOf = async (program: string, env: Env): Promise<Found> => {
  const folder = folderOf(program, env)
  const place = places[program]
  const unread: string[] = []
  if (place !== undefined) {
    const found = await filesIn(program, folder, place, unread)
    return { sources: found.toSorted((a, b) => a.changed - b.changed), unread }
  }
  const databases = await databasesIn(folder, env, unread)
  const found = (await Promise.all(databases.map((path) => inDatabase(program, path, unread)))).flat()
  const known = new Set(found.map(({ path }) => path.slice(path.indexOf('#') + 1)))
  const older = await filesOfStorage(join(folder, 'storage'), unread)
  const others = older.filter(({ path }) => !known.has(basename(path, '.json')))
  return { sources: [...found, ...others].toSorted((a, b) => a.changed - b.changed), unread }
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
  const entries = await entriesOf(folder, unread)
  return entries.flatMap(({ name }) => (/^opencode(?:-[\w.-]+)?\.db$/.test(name) ? [join(folder, name)] : []))
}

/** The files of a program. A link is followed, and a file with several names is read once. */
const filesIn = async (
  program: string,
  folder: string,
  { files, databases }: Place,
  unread: string[],
): Promise<readonly Source[]> => {
  const sources: Source[] = []
  const seen = new Set<string>()
  const walk = async (steps: readonly string[], real: string): Promise<void> => {
    const entries = await entriesOf(join(folder, ...steps), unread)
    // Files before the links to them.
    for (const entry of entries.toSorted((a, b) => Number(a.isSymbolicLink()) - Number(b.isSymbolicLink()))) {
      const inner = [...steps, entry.name]
      const path = join(folder, ...inner)
      const isFile = files.test(inner.join('/'))
      const isDatabase = databases?.test(inner.join('/')) === true
      const found = await stat(path).catch(() => undefined)
      if (found === undefined) {
        // Another file was removed in the meantime.
        if (entry.isSymbolicLink()) unread.push(`${path}: is a link to something that can't be read`)
        continue
      }
      if (found.isDirectory() ? inner.length > deepest : !isFile && !isDatabase) continue
      const own = entry.isSymbolicLink() ? await realpath(path) : join(real, entry.name)
      if (seen.has(own)) continue
      seen.add(own)
      if (found.isDirectory()) await walk(inner, own)
      else if (isDatabase) for (const source of await inDatabase(program, path, unread)) sources.push(source)
      else {
        const { size, mtimeMs } = found
        const isEmpty = size === 0
        sources.push({
          ...{ path, stamp: `${size} ${mtimeMs}`, changed: mtimeMs, isEmpty },
          read: (pick) => readFileAt(path, pick),
        })
      }
    }
  }
  await walk([], await realpath(folder).catch(() => folder))
  return sources
}

/** The sessions that opencode kept as JSON files, before its database: `session/PROJECT/ID.json`, `message`, `part`. */
const filesOfStorage = async (folder: string, unread: string[]): Promise<readonly Source[]> => {
  if (!existsSync(join(folder, 'session'))) return []
  const sources: Source[] = []
  const jsonIn = async (...steps: readonly string[]): Promise<readonly string[]> =>
    (await entriesOf(join(folder, ...steps), unread))
      .filter(({ name }) => name.endsWith('.json'))
      .map(({ name }) => join(folder, ...steps, name))
      .toSorted()
  for (const { name: project } of await entriesOf(join(folder, 'session'), unread))
    for (const path of existsSync(join(folder, 'session', project)) ? await jsonIn('session', project) : []) {
      const found = await stat(path).catch(() => undefined)
      if (found?.isFile() !== true) continue
      const messages = await jsonIn('message', basename(path, '.json'))
      const times = await Promise.all(messages.map(async (message) => (await stat(message)).mtimeMs))
      const changed = times.reduce((latest, time) => Math.max(latest, time), found.mtimeMs)
      const read = async (): Promise<Either<TranscriptFault, Transcript>> => {
        const parts = await Promise.all(messages.map((message) => jsonIn('part', basename(message, '.json'))))
        const texts: string[] = []
        for (const file of [path, ...messages, ...parts.flat()]) texts.push(await readFile(file, 'utf8'))
        return readTranscript(texts.join('\n'))
      }
      sources.push({ path, stamp: `${messages.length} ${changed}`, changed, isSingle: true, read })
    }
  return sources
}

/** The deepest level of an agent's files below its folder. */
const deepest = 8

const entriesOf = async (folder: string, unread: string[]): Promise<readonly Dirent[]> => {
  try {
    return await readdir(folder, { withFileTypes: true })
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

const inDatabase = async (program: string, path: string, unread: string[]): Promise<readonly Source[]> => {
  if (!existsSync(path)) return []
  const { openTranscriptDatabase, readTranscriptDatabase } = await import('@indelible/transcripts/sqlite')
  const opened = openTranscriptDatabase(path)
  if (isLeft(opened)) return [{ path, stamp: '', changed: 0, isSingle: true, read: async () => opened }]
  const { conversations, unread: tables } = opened.right
  opened.right.close()
  for (const [table, rows] of Object.entries(tables))
    unread.push(`${program}: ${path}: ${unreadTableText(table, rows)}`)
  return conversations.map(({ id, updated, isLater = false }, pick) => ({
    path: `${path}#${id}`,
    stamp: updated,
    changed: Number(updated) || Date.parse(updated) || 0,
    isSingle: true,
    isLater,
    read: async () => readTranscriptDatabase(path, { pick }),
  }))
}

/** The project that a Gemini CLI folder belongs to. */
export const projectRoot = (folder: string): string | undefined => {
  try {
    return readFileSync(join(folder, '.project_root'), 'utf8').trim()
  } catch {
    return undefined
  }
}
