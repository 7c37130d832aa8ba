/** Where agents keep their sessions on this machine, and how each of them is read. */
import { createReadStream, existsSync, type Dirent } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft } from '../json/index.ts'
import type { TranscriptFault } from '../codecs/index.ts'
import { assembleTranscript, readTranscriptStream, type Transcript, type TranscriptEvent } from '../transcript/index.ts'
import type { Terminal } from './command.ts'

/** One place that conversations can be read from: a file, or a session in a database. */
export interface Source {
  readonly path: string
  /** Changes when the conversations do. */
  readonly stamp: string
  /** Milliseconds since 1970. */
  readonly changed: number
  readonly read: (pick: number) => Promise<Either<TranscriptFault, Transcript>>
}

type Env = Terminal['env']

interface Place {
  readonly folder: (env: Env) => string
  /** The files, by their path in the folder, with `/` between its steps. */
  readonly files: RegExp
}

const homeOf = (env: Env): string => env['HOME'] || homedir()
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
  codex: { folder: inHome('CODEX_HOME', '.codex'), files: /^(?:archived_)?sessions\/(?:.+\/)?rollout-[^/]+\.jsonl$/ },
  gemini: {
    folder: (env) => join(env['GEMINI_CLI_HOME'] || homeOf(env), '.gemini'),
    files: /^tmp\/[^/]+\/chats\/.+\.jsonl?$/,
  },
  pi: { folder: inHome('PI_CODING_AGENT_DIR', '.pi', 'agent'), files: /^sessions\/.+\.jsonl$/ },
}

/** The programs whose sessions can be found. */
export const programs: readonly string[] = [...Object.keys(places), 'opencode'].toSorted()

/** The folder in which a program keeps its sessions. */
export const folderOf = (program: string, env: Env): string =>
  places[program]?.folder(env) ?? join(env['XDG_DATA_HOME'] || join(homeOf(env), '.local', 'share'), 'opencode')

/** All sessions of a program, the one that changed last at the end. Empty where there are none. */
export const sourcesOf = async (program: string, env: Env): Promise<readonly Source[]> => {
  const folder = folderOf(program, env)
  const place = places[program]
  const found = place === undefined ? await inDatabase(join(folder, 'opencode.db')) : await filesIn(folder, place.files)
  return found.toSorted((a, b) => a.changed - b.changed)
}

const filesIn = async (folder: string, files: RegExp): Promise<readonly Source[]> => {
  const sources: Source[] = []
  const walk = async (steps: readonly string[]): Promise<void> => {
    for (const entry of await entriesOf(join(folder, ...steps))) {
      const inner = [...steps, entry.name]
      if (entry.isDirectory() && inner.length <= deepest) await walk(inner)
      if (!entry.isFile() || !files.test(inner.join('/'))) continue
      const path = join(folder, ...inner)
      const { size, mtimeMs } = await stat(path)
      sources.push({ path, stamp: `${size} ${mtimeMs}`, changed: mtimeMs, read: (pick) => readFileAt(path, pick) })
    }
  }
  await walk([])
  return sources
}

/** How deep under its folder an agent's file can be. */
const deepest = 8

const entriesOf = async (folder: string): Promise<readonly Dirent[]> => {
  try {
    return await readdir(folder, { withFileTypes: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

const readFileAt = async (path: string, pick: number): Promise<Either<TranscriptFault, Transcript>> => {
  const events: TranscriptEvent[] = []
  for await (const event of readTranscriptStream(createReadStream(path, { highWaterMark: 1 << 20 }), { pick }))
    events.push(event)
  return assembleTranscript(events)
}

const inDatabase = async (path: string): Promise<readonly Source[]> => {
  if (!existsSync(path)) return []
  const { openTranscriptDatabase, readTranscriptDatabase } = await import('../transcript/sqlite/index.ts')
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
