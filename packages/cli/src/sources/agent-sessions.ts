/** The folders in which agents keep their sessions on this machine, and how to read them. */
import { existsSync, readFileSync, type Dirent } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, isObject, parseJson, right, type JsonObject } from 'indelible/json/kit'
import type { TranscriptFault } from 'indelible/codecs'
import { readTranscriptStream, type Transcript, type TranscriptEvent } from '@indelible/transcripts'
import { assembleTranscript } from '@indelible/transcripts/kit'
import { withResultFiles } from './claude-results.ts'
import { bytesOfFile } from './codex-base.ts'
import type { Terminal } from '../terminal/command.ts'
import { unreadable } from './input.ts'

/** One source of conversations: a file, or a session in a database. */
export interface Source {
  readonly path: string
  /** Changes with the conversations. */
  readonly stamp: string
  /** In milliseconds since 1970. */
  readonly changed: number
  readonly read: (pick: number) => Promise<Either<TranscriptFault, Transcript>>
}

type Env = Terminal['env']

interface Place {
  readonly folder: (env: Env) => string
  /** Matches the files' paths in the folder, with `/` as the separator. */
  readonly files: RegExp
}

export const homeOf = (env: Env): string => env['HOME'] || homedir()
const inHome =
  (variable: string, ...path: readonly string[]) =>
  (env: Env): string =>
    env[variable] || join(homeOf(env), ...path)

/**
 * The folders of the agents' files.
 *
 * Source  their documentation and source (2026-09): code.claude.com/docs/en/sessions; openai/codex, rollout/src/recorder.rs;
 *         google-gemini/gemini-cli, chatRecordingService.ts; badlogic/pi-mono, docs/session.md
 */
const places: { readonly [program: string]: Place } = {
  'claude-code': { folder: inHome('CLAUDE_CONFIG_DIR', '.claude'), files: /^projects\/.+\.jsonl$/ },
  codex: {
    folder: inHome('CODEX_HOME', '.codex'),
    files: /^(?:archived_)?sessions\/(?:.+\/)?rollout-[^/]+\.jsonl(?:\.zst)?$/,
  },
  gemini: {
    folder: (env) => join(env['GEMINI_CLI_HOME'] || homeOf(env), '.gemini'),
    files: /^tmp\/[^/]+\/chats\/.+\.jsonl?$/,
  },
  pi: { folder: (env) => piFolder(env), files: /\.jsonl$/ },
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
  const found =
    place === undefined
      ? (await Promise.all((await databasesIn(folder, env, unread)).map(inDatabase))).flat()
      : await filesIn(folder, place.files, unread)
  return { sources: found.toSorted((a, b) => a.changed - b.changed), unread }
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

const filesIn = async (folder: string, files: RegExp, unread: string[]): Promise<readonly Source[]> => {
  const sources: Source[] = []
  const walk = async (steps: readonly string[]): Promise<void> => {
    for (const entry of await entriesOf(join(folder, ...steps), unread)) {
      const inner = [...steps, entry.name]
      if (entry.isDirectory() && inner.length <= deepest) await walk(inner)
      if (!entry.isFile() || !files.test(inner.join('/'))) continue
      const path = join(folder, ...inner)
      const found = await stat(path).catch(() => undefined)
      if (found === undefined) continue // removed in the meantime
      const { size, mtimeMs } = found
      sources.push({ path, stamp: `${size} ${mtimeMs}`, changed: mtimeMs, read: (pick) => readFileAt(path, pick) })
    }
  }
  await walk([])
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
  for await (const event of readTranscriptStream(bytesOfFile(path), { pick })) events.push(event)
  const read = assembleTranscript(events)
  return isLeft(read) ? read : right(await withResultFiles(path, read.right))
}

const inDatabase = async (path: string): Promise<readonly Source[]> => {
  if (!existsSync(path)) return []
  const { openTranscriptDatabase, readTranscriptDatabase } = await import('@indelible/transcripts/sqlite')
  const opened = openTranscriptDatabase(path)
  if (isLeft(opened)) return [{ path, stamp: '', changed: 0, read: async () => opened }]
  const { conversations } = opened.right
  opened.right.close()
  return conversations.map(({ id, updated }, pick) => ({
    path: `${path}#${id}`,
    stamp: updated,
    changed: Number(updated) || 0,
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
