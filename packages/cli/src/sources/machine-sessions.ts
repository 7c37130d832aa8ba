/** Finds the sessions that agents keep on this machine, by their ids. */
import { basename, dirname } from 'node:path'
import { isLeft } from 'indelible/internal/json'
import type { Transcript } from '@indelible/transcripts'
import { programs, projectRoot, sourcesOf, type Source } from './agent-sessions.ts'
import { Unreadable, type Terminal } from '../terminal/command.ts'
import { matchesIdPattern } from './short-ids.ts'
import { countText } from '../terminal/screen.ts'

export interface SessionAtPath {
  readonly program: string
  readonly source: Source
}

/** The sessions of programs, latest first, and the places that can't be read. */
export const allSources = async (
  { env }: Pick<Terminal, 'env'>,
  of: readonly string[],
): Promise<{ readonly found: readonly SessionAtPath[]; readonly unread: readonly string[] }> => {
  const all = await Promise.all(of.map(async (program) => ({ program, ...(await sourcesOf(program, env)) })))
  const found = all.flatMap(({ program, sources }) => sources.map((source) => ({ program, source })))
  return {
    found: found
      .filter(({ source }) => basename(dirname(source.path)) !== 'subagents') // they have their parent session's id
      .toSorted((a, b) => b.source.changed - a.source.changed),
    unread: all.flatMap(({ unread }) => unread),
  }
}

/** What was found on this machine, and the command that stores it; undefined if nothing was found. */
export const importAdvice = async (env: Terminal['env']): Promise<string | undefined> => {
  const { found } = await allSources({ env }, programs)
  const counts = [...Map.groupBy(found, ({ program }) => program)]
  if (counts.length === 0) return undefined
  const names = counts.map(([program, sources]) => `${countText(sources.length, 'session')} of ${program}`).join(', ')
  return `found on this machine: ${names}; "indelible keep" keeps them`
}

/** The id at the end of a session file's name, or from the database. For Gemini CLI it is the first part of the id. */
export const idOf = ({ path: named }: Pick<Source, 'path'>): string => {
  // Kimi has a folder for each agent of a session.
  const [, session, agent] = /^(.*)[/\\]agents[/\\]([^/\\]+)[/\\]wire\.jsonl$/.exec(named) ?? []
  if (session !== undefined) return agent === 'main' ? idIn(session) : `${idIn(session)}.agent-${agent}`
  return idIn(named.replace(/[/\\](?:events|wire|context|api_conversation_history)\.jsonl?$|\.messages\.json$/, ''))
}

const idIn = (path: string): string =>
  /(?:#|[-_/\\])([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<=#).+|[0-9a-f]{8})(?:\.jsonl?(?:\.zst)?)?$/.exec(
    path,
  )?.[1] ?? basename(path).replace(/\.jsonl?(?:\.zst)?$/, '')

/** The session whose id begins with a text; undefined if there is none. Throws Unreadable if there are several. */
export const findSource = async (name: string, terminal: Terminal): Promise<Source | undefined> => {
  const { found } = await allSources(terminal, programs)
  const matching = found.filter(
    ({ source }) => matchesIdPattern(name, idOf(source)) || name.startsWith(`${idOf(source)}-`),
  )
  const whole = matching.filter(({ source }) => idOf(source) === name)
  const [first, ...others] = whole.length > 0 ? whole : matching
  if (first !== undefined && others.some(({ source }) => idOf(source) !== idOf(first.source)))
    throw new Unreadable(
      `the sessions ${matching
        .slice(0, 5)
        .map(({ source }) => idOf(source))
        .join(', ')} begin with "${name}"; give more of the id`,
    )
  return first === undefined ? undefined : fullest([first, ...others], terminal)
}

/** Of several files with one id, the one with the most messages. The others are named. */
const fullest = async (sources: readonly SessionAtPath[], terminal: Terminal): Promise<Source | undefined> => {
  if (sources.length === 1) return sources[0]?.source
  const sized = await Promise.all(
    sources.map(async ({ source }) => {
      const read = await source.read(0).catch(() => undefined)
      return { source, size: read === undefined || isLeft(read) ? -1 : read.right.messages.length }
    }),
  )
  const [best, ...others] = sized.toSorted((a, b) => b.size - a.size || b.source.changed - a.source.changed)
  terminal.tell(
    others.map(
      ({ source, size }) =>
        `${source.path} has the same id and ${size < 0 ? "can't be read" : countText(size, 'message')}; ${best?.source.path} is used`,
    ),
  )
  return best?.source
}

/** Whether a session is a sub-agent's. */
export const isOfSubAgent = ({ origin: { metadata } }: Transcript): boolean =>
  metadata['isSidechain'] === true ||
  metadata['thread_source'] === 'subagent' ||
  metadata['kind'] === 'subagent' ||
  typeof (metadata['parent_id'] ?? metadata['parentID']) === 'string'

/** The folder in which the agent of a session worked, if its file says so. */
export const projectFolderOf = ({ origin }: Transcript, path: string): string | undefined => {
  const { cwd, directory } = origin.metadata
  const folder = cwd ?? directory ?? projectRoot(dirname(dirname(path)))
  return typeof folder === 'string' ? folder : undefined
}
