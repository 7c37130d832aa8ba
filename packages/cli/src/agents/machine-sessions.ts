/** `indelible sessions`: the sessions that agents keep on this machine, from all programs. */
import { basename, dirname } from 'node:path'
import { isLeft } from 'indelible/json/kit'
import type { Transcript } from '@indelible/transcripts'
import { firstWordsOf } from '../view/about.ts'
import { programs, sourcesOf, type Source } from '../sources/agent-sessions.ts'
import { Misuse, Unreadable, wholeNumber, type Command, type Terminal } from '../terminal/command.ts'
import { projectRoot } from './native-files.ts'
import { matchesIdPattern, shortIds } from '../sources/short-ids.ts'
import { fitColumns, oneLine, padEnd, widthOf } from '../terminal/screen.ts'

export const sessions: Command = {
  name: 'sessions',
  synopsis: 'sessions',
  purpose: 'list the sessions of all agents on this machine',
  usage: ['sessions [options]'],
  about: `Lists the sessions that agents keep on this machine, the latest first:
when each changed, its program, its id, its project and its title or first
words. Sessions of sub-agents are not listed; continue one by its id or file.
"indelible continue ID --in PROGRAM" continues one. Reads the files of
${programs.join(', ')}.`,
  options: {
    limit: { value: 'N', help: 'print at most N (default 20)' },
    of: { value: 'PROGRAM', help: 'only sessions of one program' },
    json: { help: 'one JSON object per line, for programs' },
  },
  examples: ['indelible sessions --of codex'],
  run: async ({ values, terminal }) => {
    const limit = wholeNumber('--limit', values['limit'], 20, 0)
    const of = values['of']
    if (of !== undefined && !programs.includes(String(of)))
      throw new Misuse(`--of takes one of ${programs.join(', ')}, not "${String(of)}"`)
    const { found, unread } = await allSources(terminal, of === undefined ? programs : [String(of)])
    terminal.tell(unread)
    const listed: SessionSummary[] = []
    let seen = 0
    for (; seen < found.length && listed.length < limit; seen++) {
      const described = await describe(found[seen] as SessionAtPath)
      if (described !== undefined) listed.push(described)
    }
    if (values['json'] === true) return terminal.printJson(listed)
    const idsOf = shortIds(
      found.map(({ source }) => idOf(source)),
      terminal,
    )
    await terminal.print(tableOf(listed, idsOf, terminal.columns))
    if (found.length === 0) terminal.tell(['found no sessions of agents on this machine'])
    else if (found.length > seen) terminal.tell([`${found.length - seen} more: --limit ${found.length}`])
  },
}

interface SessionAtPath {
  readonly program: string
  readonly source: Source
}

/** The sessions of programs, latest first, and the places that can't be read. */
const allSources = async (
  { env }: Terminal,
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

/** The id at the end of a session file's name, or from the database. For Gemini CLI it is the first part of the id. */
const idOf = ({ path }: Source): string =>
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
  return first?.source
}

interface SessionSummary {
  readonly changed: string
  readonly program: string
  readonly id: string
  readonly project?: string
  readonly title?: string
  readonly messages?: number
  readonly path: string
  readonly unreadable?: string
}

/** Undefined for a sub-agent's session. */
const describe = async ({ program, source }: SessionAtPath): Promise<SessionSummary | undefined> => {
  const known = { changed: new Date(source.changed).toISOString(), program, id: idOf(source), path: source.path }
  try {
    const read = await source.read(0)
    if (isLeft(read)) return { ...known, unreadable: read.left._tag }
    if (isOfSubAgent(read.right)) return undefined
    const project = projectOf(read.right, source)
    const title = read.right.origin.title ?? oneLine(firstWordsOf(read.right.messages)).slice(0, 200)
    const messages = read.right.messages.length
    return { ...known, ...(project && { project }), ...(title && { title }), messages }
  } catch (error) {
    return { ...known, unreadable: (error as NodeJS.ErrnoException).code ?? String(error) }
  }
}

/** Whether a session is a sub-agent's. */
export const isOfSubAgent = ({ origin: { metadata } }: Transcript): boolean =>
  metadata['isSidechain'] === true ||
  metadata['thread_source'] === 'subagent' ||
  metadata['kind'] === 'subagent' ||
  typeof (metadata['parent_id'] ?? metadata['parentID']) === 'string'

const projectOf = ({ origin }: Transcript, { path }: Source): string | undefined => {
  const { cwd, directory } = origin.metadata
  const said = cwd ?? directory ?? projectRoot(dirname(dirname(path)))
  return typeof said === 'string' ? said : undefined
}

/** Lines in columns as wide as their content; the titles get the rest. */
const tableOf = (
  listed: readonly SessionSummary[],
  shortOf: (id: string) => string,
  columns: number,
): readonly string[] => {
  const rows = listed.map(({ changed, program, id, project, title, unreadable }) => ({
    cells: [
      changed.slice(0, columns < 60 ? 10 : 16).replace('T', ' '),
      program,
      shortOf(id),
      ...(columns < 60 ? [] : [fitColumns(oneLine(project === undefined ? '' : basename(project)), 12)]),
    ],
    about: unreadable === undefined ? oneLine(title ?? '') : `can't be read: ${unreadable}`,
  }))
  const widths = rows[0]?.cells.map((_, at) => Math.max(...rows.map(({ cells }) => widthOf(cells[at] ?? '')))) ?? []
  return rows.map(({ cells, about }) =>
    fitColumns([...cells.map((cell, at) => padEnd(cell, widths[at] ?? 0)), about].join('  ').trimEnd(), columns),
  )
}
