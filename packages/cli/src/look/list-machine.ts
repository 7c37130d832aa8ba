/** `indelible list --machine`: the sessions that agents keep on this machine, from all programs. */
import { isLeft } from 'indelible/internal/json'
import { firstWordsOf, projectIn } from '@indelible/view/internal'
import { programs } from '../sources/agent-sessions.ts'
import { allSources, idOf, isOfSubAgent, projectFolderOf, type SessionAtPath } from '../sources/machine-sessions.ts'
import { wholeNumber, wordOf, type Call } from '../terminal/command.ts'
import { shortIds } from '../sources/short-ids.ts'
import { fitColumns, isNarrow, oneLine, timeWidthFor } from '../terminal/screen.ts'
import { alignRows } from '../terminal/table.ts'

export const listMachine = async ({ values, terminal }: Call): Promise<void> => {
  const limit = wholeNumber('--limit', values['limit'], 20, 0)
  const of = wordOf('--of', values['of'], programs, undefined)
  const { found, unread } = await allSources(terminal, of === undefined ? programs : [of])
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
    const project = projectFolderOf(read.right, source.path)
    const title = read.right.origin.title ?? oneLine(firstWordsOf(read.right.messages)).slice(0, 200)
    const messages = read.right.messages.length
    return { ...known, ...(project && { project }), ...(title && { title }), messages }
  } catch (error) {
    return { ...known, unreadable: (error as NodeJS.ErrnoException).code ?? String(error) }
  }
}

/** Lines in columns as wide as their content; the titles get the rest. */
const tableOf = (
  listed: readonly SessionSummary[],
  shortOf: (id: string) => string,
  columns: number,
): readonly string[] => {
  const rows = listed.map(({ changed, program, id, project, title, unreadable }) => [
    changed.slice(0, timeWidthFor(columns)).replace('T', ' '),
    program,
    shortOf(id),
    ...(isNarrow(columns) ? [] : [fitColumns(oneLine(project === undefined ? '' : projectIn(project)), 12)]),
    unreadable === undefined ? oneLine(title ?? '') : `can't be read: ${unreadable}`,
  ])
  return alignRows(rows).map((line) => fitColumns(line, columns))
}
