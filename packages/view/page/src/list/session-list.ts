/** The list of sessions, without its elements: their order, which of them match, how they are grouped, and its lines. */
import { isArray, isObject } from 'indelible/internal/json'
import type { FoundMessage, Overview, ViewedSession } from '../../../src/protocol.ts'
import {
  ancestryOf,
  importedFrom,
  namesOf,
  parentIdOf,
  projectIn,
  tokensOf as knownTokensOf,
  workFolderOf,
} from '../../../src/texts/about.ts'
import { countText, oneLine } from '../format-text.ts'
import { memoizeByKey } from '../memo.ts'
import { displayNameOf } from '../data/overviews.ts'
import { activityOf, titleOf } from '../data/title.ts'

export type Order = 'appended' | 'created' | 'messages' | 'title' | 'tokens' | 'money'

/** A session in the list, and how deep below others it stands. */
export interface Row {
  readonly session: ViewedSession
  readonly depth: number
}

/** The messages with the words that are searched for. */
export interface SearchState {
  readonly state: 'none' | 'busy' | 'done'
  readonly hits: readonly FoundMessage[]
  /** Why they could not be searched. */
  readonly fault?: string
  readonly more?: () => void
}

/** A line of the list. */
export type Line =
  | { readonly type: 'session'; readonly row: Row }
  | { readonly type: 'hit'; readonly hit: FoundMessage }
  | { readonly type: 'heading'; readonly text: string }

/** What tells a line from the others. */
export const keyOf = (line: Line | undefined): string | undefined =>
  line === undefined
    ? undefined
    : line.type === 'session'
      ? line.row.session.id
      : line.type === 'hit'
        ? `${line.hit.session}\n${line.hit.position}`
        : `\n${line.text}`

/** The lines: the sessions, under a heading for each group if they have groups, and then the messages found. */
export const linesOf = (
  rows: readonly Row[],
  { hits, state, fault, more }: SearchState,
  groupOf: ((session: ViewedSession) => string) | undefined,
): readonly Line[] => {
  const sessions: Line[] = []
  for (const [name, group] of groupOf === undefined
    ? [['', rows] as const]
    : Map.groupBy(rows, ({ session }) => groupOf(session))) {
    if (groupOf !== undefined)
      sessions.push({
        type: 'heading',
        text: `${name === '' ? 'Not known' : name} · ${countText(group.length, 'session')}`,
      })
    for (const row of group) sessions.push({ type: 'session', row })
  }
  if (state === 'none') return sessions
  return [
    ...sessions,
    {
      type: 'heading',
      text:
        fault !== undefined
          ? `The messages could not be searched: ${fault}`
          : state === 'busy'
            ? 'Searching the messages…'
            : hits.length === 0
              ? 'No message has these words'
              : `Found in ${countText(hits.length, 'message')}${more === undefined ? '' : ' and more'}`,
    },
    ...hits.map((hit): Line => ({ type: 'hit', hit })),
  ]
}

/** The names of the sessions' projects, in which they differ; empty if a file does not say it. Cost: O(sessions) once. */
export const projectsIn = (sessions: readonly ViewedSession[]): ((session: ViewedSession) => string) => {
  const folders = new Set(sessions.flatMap((session) => workFolderOf(session) ?? []))
  const alike = Map.groupBy(folders, (folder) => projectIn(folder))
  const names = new Map(Array.from(folders, (folder) => [folder, projectIn(folder, alike.get(projectIn(folder)))]))
  return (session) => names.get(workFolderOf(session) ?? '') ?? ''
}

/** The program that a session was recorded or imported from; empty if that is not known. */
export const programOf = (session: ViewedSession): string => {
  const program = importedFrom(session)['program'] ?? session.metadata['client']
  return typeof program === 'string' ? oneLine(program, 40) : ''
}

/** Whether several sessions have the name of one. Cost: O(sessions) once. */
export const alikeIn = (sessions: readonly ViewedSession[]): ((session: ViewedSession) => boolean) => {
  const counts = new Map<string, number>()
  for (const session of sessions) {
    const name = displayNameOf(session)
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return (session) => (counts.get(displayNameOf(session)) ?? 0) > 1
}

/** What a session is found and ordered by. */
interface ListFacts {
  readonly title: string
  /** In lower case: its id, title, folder, program and hosts. */
  readonly text: string
  readonly activity: number
  readonly tokens: number | undefined
}

/** Worked out once for each session. */
export const factsOf: (session: ViewedSession) => ListFacts = memoizeByKey((session: ViewedSession) => {
  const title = titleOf(session)
  const tokens = session.tokens === undefined ? undefined : knownTokensOf(session)
  const text =
    `${session.id} ${title} ${workFolderOf(session) ?? ''} ${programOf(session)} ${hostsOf(session).join(' ')}`.toLowerCase()
  return { title, text, activity: activityOf(session), tokens }
})

/** The tokens of its own calls; of an encrypted session as its overview has them. */
export const tokensOf = (session: ViewedSession, overview: Overview | undefined): number => {
  const { input, output } = overview ?? { input: 0, output: 0 }
  return factsOf(session).tokens ?? input + output
}

const overviewText = memoizeByKey(({ words, models }: Overview) => `${words} ${models.join(' ')}`.toLowerCase())

/** Sessions with the most of something first, or by their titles. */
export const inOrder = (
  sessions: readonly ViewedSession[],
  order: Order,
  known: ReadonlyMap<string, Overview>,
): readonly ViewedSession[] => {
  const { compare } = new Intl.Collator()
  if (order === 'title') return sessions.toSorted((a, b) => compare(factsOf(a).title, factsOf(b).title))
  const values: { readonly [order in Exclude<Order, 'title'>]: (session: ViewedSession) => number } = {
    appended: (session) => factsOf(session).activity,
    created: ({ created }) => created,
    messages: ({ len }) => len,
    tokens: (session) => tokensOf(session, known.get(session.id)),
    money: ({ id }) => known.get(id)?.dollars ?? -1,
  }
  const value = values[order]
  return sessions
    .map((session) => ({ session, value: value(session) }))
    .toSorted((a, b) => b.value - a.value)
    .map(({ session }) => session)
}

/** What a session must have to be in the list; empty or 0 for any. */
export interface SessionFilter {
  readonly words: string
  /** The earliest last activity. */
  readonly oldest: number
  readonly cost: number
  readonly model: string
  readonly host: string
}

/** Whether the filter shows a session. Its words are looked for in the session and, once it is loaded, in the overview. */
export const matches = (
  session: ViewedSession,
  overview: Overview | undefined,
  { words, oldest, cost, model, host }: SessionFilter,
): boolean => {
  const { text, activity } = factsOf(session)
  if (activity < oldest || (host !== '' && !hostsOf(session).includes(host))) return false
  if (cost > 0 && (overview?.dollars ?? 0) < cost) return false
  if (model !== '' && !modelsOf(session, overview).includes(model)) return false
  const more = overview === undefined ? '' : overviewText(overview)
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word) || more.includes(word))
}

/** The machines that a session was sent from (`indelible keep --to`), as its metadata has them. */
export const hostsOf = ({ metadata: { host, keptFrom } }: ViewedSession): readonly string[] => {
  const sent = isArray(keptFrom) ? keptFrom.map((entry: unknown) => (isObject(entry) ? entry['host'] : undefined)) : []
  return [host, ...sent].flatMap((name) => (typeof name === 'string' && name !== '' ? name : []))
}

/** The models of a session's calls; before its overview has come, those that its file names. */
const modelsOf = (session: ViewedSession, overview: Overview | undefined): readonly string[] => {
  const named = importedFrom(session)['models']
  return overview?.models ?? (isArray(named) ? named.filter((entry) => typeof entry === 'string') : [])
}

/** The models of all calls, each once. */
export const modelsIn = (
  sessions: readonly ViewedSession[],
  known: ReadonlyMap<string, Overview>,
): readonly string[] => [...new Set(sessions.flatMap((session) => modelsOf(session, known.get(session.id))))]

/** The session that each was forked from, or whose sub-agent it is. Cost: O(sessions) once. */
export const parentsIn = (sessions: readonly ViewedSession[]): ((session: ViewedSession) => string | undefined) => {
  const byName = new Map(
    sessions.toReversed().flatMap((entry) => namesOf(entry).map((name) => [name, entry.id] as const)),
  )
  return (session) => session.forkedFrom?.id ?? byName.get(parentIdOf(session) ?? '')
}

/** Forks and sub-agents below the session that they come from. A circle of parents is flat. */
export const treeOf = (
  sessions: readonly ViewedSession[],
  parentOf: (session: ViewedSession) => string | undefined,
): readonly Row[] => {
  const there = new Map(sessions.map((session) => [session.id, session]))
  const parentOfId = (id: string): string | undefined => there.get(id) && parentOf(there.get(id) as ViewedSession)
  const children = new Map<string, ViewedSession[]>()
  const roots: ViewedSession[] = []
  for (const session of sessions) {
    const parent = parentOf(session)
    if (parent === undefined || !there.has(parent) || ancestryOf(parent, parentOfId).includes(session.id))
      roots.push(session)
    else {
      const others = children.get(parent)
      if (others === undefined) children.set(parent, [session])
      else others.push(session)
    }
  }
  const rows: Row[] = []
  const stack: Row[] = roots.toReversed().map((session) => ({ session, depth: 0 }))
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { session, depth } = next
    rows.push(next)
    for (const child of (children.get(session.id) ?? []).toReversed()) stack.push({ session: child, depth: depth + 1 })
  }
  return rows
}
