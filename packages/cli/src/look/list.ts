/** `indelible list`: the sessions of a store or of this machine's agents, the forks, the scopes. */
import { tellLastResult } from '../keep/last-result.ts'
import { isLeft } from 'indelible/internal/json'
import { readRange, type SessionInfo } from 'indelible/session'
import type { ListQuery, Store } from 'indelible/store'
import { compareIds, type DamagedEntry } from 'indelible/internal/store'
import { Misuse, wholeNumber, type Call, type Command, type Terminal } from '../terminal/command.ts'
import {
  activityOf,
  claudeAgentText,
  firstWordsOf,
  hasOwnWords,
  projectIn,
  titleOf,
  tokensOf,
  workFolderOf,
} from '@indelible/view/internal'
import { didYouMean } from '../sources/advice.ts'
import { fieldNames, filterOf, modelsOf, whereHelp } from '../sources/list-filter.ts'
import { marksIn, marksText, type Marks } from '../sources/session-badges.ts'
import { allScopesOption, storeOption, wholeStoreOption, withScopes } from '../sources/place.ts'
import {
  fitColumns,
  groupedNumber,
  isNarrow,
  oneLine,
  padEnd,
  padStart,
  timeWidthFor,
  widthOf,
} from '../terminal/screen.ts'
import { alignRows, columnWidths, sumOfWidths } from '../terminal/table.ts'
import { allSessions, damagedText, noSessionsText, sessionFields, shortIdsByScope } from '../sources/sessions.ts'

export const list: Command = {
  name: 'list',
  synopsis: 'list',
  purpose: 'list sessions: those of a store, or of all agents on this machine',
  usage: [
    'list [options]',
    'list --machine [--of PROGRAM] [--limit N] [--json]',
    'list --tree [SESSION] [options]',
    'list --scopes [options]',
  ],
  about: `Prints the sessions of a store: the time of the last activity (UTC), the number of messages, the id, and the title
or the first words of the user. [held], [encrypted] and [2 erased] say that a session is held ("indelible hold"), that it
is encrypted, and how many messages were erased from it. The last activity of an
imported conversation is the time in its file, until something is appended here.
A session that can't be read because it is damaged is named on standard error, and the exit code is 1.
On a terminal long ids are shortened. Commands accept a unique beginning of an
id, except those that can't be undone.

With --machine it lists the sessions that agents keep on this machine, the latest first: when each changed, its program,
its id, its project and its title or first words. Sessions of sub-agents are not listed; continue one by its id or file.
"indelible continue ID --in PROGRAM" continues one.

With --tree it prints the forks of a store as trees: each session below the one that it was forked from, with the
position where they diverge, its own length, and its marks. With SESSION it prints only the tree of that session. A session
without forks is not printed, unless you name it.

With --scopes it prints the scopes of a store, each with its number of sessions and its last activity (UTC). A scope keeps
the sessions of one user or tenant apart from those of others. A command works in the scope "default", unless --scope
names another.`,
  options: {
    sort: {
      value: 'FIELD',
      help: 'activity (default: the latest first), appended, created, messages, tokens (in and out) or id',
    },
    where: { value: 'TEST', many: true, help: whereHelp },
    limit: { value: 'N', help: 'print only the first N (default with --machine: 20)' },
    machine: { help: 'the sessions of all agents on this machine' },
    of: { value: 'PROGRAM', help: 'with --machine: only sessions of one program' },
    tree: { help: 'which sessions were forked from which' },
    scopes: { help: 'the scopes of the store' },
    json: { help: 'one JSON object for each session or scope, for programs' },
    ...storeOption,
    ...allScopesOption,
  },
  forms: {
    '': ['sort', 'where', 'limit', 'json', ...Object.keys(storeOption), ...Object.keys(allScopesOption)],
    machine: ['of', 'limit', 'json'],
    tree: ['json', ...Object.keys(storeOption)],
    scopes: ['json', ...Object.keys(wholeStoreOption)],
  },
  examples: [
    'indelible list --sort messages --limit 10',
    'indelible list --where model~opus --where "messages>100"',
    'indelible list --machine --of codex',
  ],
  run: async (call) => {
    const { values, positionals } = call
    const most = values['tree'] === true ? 1 : 0
    if (positionals.length > most)
      throw new Misuse(
        `list takes ${most === 0 ? 'no arguments' : 'one SESSION with --tree'}, but got ${positionals.join(', ')}`,
      )
    if (values['machine'] === true) return (await import('./list-machine.ts')).listMachine(call)
    if (values['tree'] === true) return (await import('./list-tree.ts')).listTree(call)
    if (values['scopes'] === true) return (await import('./list-scopes.ts')).listScopes(call)
    return listStore(call)
  },
}

const listStore = async (call: Call): Promise<void> => {
  const { values, terminal } = call
  const order = orders[String(values['sort'] ?? 'activity')]
  if (order === undefined)
    throw new Misuse(
      `--sort takes ${Object.keys(orders).join(', ')}${values['sort'] === 'cost' ? '; "indelible spend --by session" orders by cost' : ''}`,
    )
  const passes = filterOf(values)
  const limit = wholeNumber('--limit', values['limit'], undefined, 0)
  await tellLastResult(call)
  await withScopes(call, {}, async (scopes, all) => {
    const damaged: { readonly store: Store; readonly entry: DamagedEntry }[] = []
    const found: ListedSession[] = []
    let hasSessions = false
    for (const store of scopes) {
      const entries: DamagedEntry[] = []
      const marks = await marksIn(store, terminal)
      const first = new FirstSessions(order, limit)
      for await (const info of allSessions(store, entries, first.query)) {
        hasSessions = true
        if (first.isCompleteBefore(info)) break
        const marked = marks(info)
        if (!passes(info, marked, passes.readsModels ? await modelsOf(store, info) : [])) continue
        found.push({ store, info, marks: marked })
        first.add(info)
      }
      for (const entry of entries) damaged.push({ store, entry })
    }
    const listed = found.toSorted((a, b) => order.compare(a.info, b.info)).slice(0, limit)
    terminal.tellDamage(damaged.map(({ entry }) => damagedText(entry)))
    if (values['json'] === true) {
      const scopeField = ({ scope }: Store): object => (all ? { scope } : {})
      return terminal.printJson([
        ...listed.map(({ store, info, marks }) => ({ ...sessionFields(info), ...marks, ...scopeField(store) })),
        ...damaged.map(({ store, entry }) => ({ id: entry.id, damaged: entry.reason, ...scopeField(store) })),
      ])
    }
    await printTable(listed, terminal, all, order === orders['tokens'] || passes.readsTokens)
    if (listed.length > 0 || damaged.length > 0) return
    if (hasSessions)
      return terminal.tell([
        limit === 0
          ? '--limit 0 prints no session'
          : `no session matches --where${[...passes.unknown].map((name) => `; no session has the field "${name}"${didYouMean(name, fieldNames)}`).join('')}`,
      ])
    const [store] = scopes
    if (store !== undefined) terminal.tell([await noSessionsText(store, terminal)])
  })
}

interface ListedSession {
  readonly store: Store
  readonly info: SessionInfo
  readonly marks: Marks
}

/** An order of sessions, and the store's order to read them in. */
interface Order {
  readonly by: NonNullable<ListQuery['by']>
  readonly compare: (a: SessionInfo, b: SessionInfo) => number
  /** If the orders differ: a session's time, never later than its place in the store's order. */
  readonly time?: (info: SessionInfo) => number
  /** Whether no order of a store is near it. */
  readonly readsAll?: true
}

const orders: { readonly [field: string]: Order | undefined } = {
  activity: { by: 'appended', compare: (a, b) => activityOf(b) - activityOf(a), time: activityOf },
  appended: { by: 'appended', compare: (a, b) => b.appended - a.appended },
  created: { by: 'created', compare: (a, b) => b.created - a.created },
  messages: { by: 'entries', compare: (a, b) => b.len - a.len },
  // A store orders by receipts alone; the tokens of imported files are in their metadata.
  tokens: { by: 'created', compare: (a, b) => (tokensOf(b) ?? 0) - (tokensOf(a) ?? 0), readsAll: true },
  id: { by: 'id', compare: (a, b) => compareIds(a.id, b.id) },
}

/** The first sessions of an order: which page of the store to read, and when no later session can be among them. */
class FirstSessions {
  readonly query: { readonly by: Order['by']; readonly first?: number }
  readonly #order: Order
  readonly #most: number
  #found = 0
  /** The latest times, latest first. */
  readonly #times: number[] = []

  constructor(order: Order, limit: number | undefined) {
    this.#order = order
    this.#most = limit === undefined || limit > mostOfFirst || order.readsAll === true ? Infinity : limit
    // All of them are sorted here in any case, and a store sorts what is left for each page by tokens.
    this.query = this.#most < Infinity ? { by: order.by, first: this.#most + 1 } : { by: 'created' }
  }

  /** Whether neither this session nor any later one in the store's order can be among the first. */
  isCompleteBefore({ appended }: SessionInfo): boolean {
    const { time } = this.#order
    return this.#found >= this.#most && (time === undefined || (this.#times.at(-1) ?? Infinity) >= appended)
  }

  add(info: SessionInfo): void {
    const { time } = this.#order
    this.#found += 1
    if (time === undefined || this.#most === Infinity) return
    const own = time(info)
    const place = this.#times.findLastIndex((earlier) => earlier >= own) + 1
    this.#times.splice(place, 0, own)
    if (this.#times.length > this.#most) this.#times.pop()
  }
}

/** The largest limit for which a page of matching size is read; beyond it, all sessions are read. */
const mostOfFirst = 499

const printTable = async (
  listed: readonly ListedSession[],
  terminal: Terminal,
  all: boolean,
  hasTokens: boolean,
): Promise<void> => {
  if (listed.length === 0) return
  const { columns, paint, shows } = terminal
  const sessions = listed.map(({ store, info: { id } }) => ({ store, id }))
  const shortOf = await shortIdsByScope(sessions, terminal)
  const timeWidth = timeWidthFor(columns)
  const row = (time: string, messages: string, tokens: string, scope: string, id: string): readonly string[] => [
    ...[time.padEnd(timeWidth), messages],
    ...(hasTokens ? [padStart(tokens, tokensWidth)] : []),
    ...(all ? [fitColumns(scope, widestScope)] : []),
    id,
  ]
  const rows = [
    row(isNarrow(columns) ? 'last day' : 'last activity', 'messages', 'tokens', 'scope', 'session'),
    ...listed.map(({ store, info }, index) => {
      const time = new Date(activityOf(info)).toISOString().slice(0, timeWidth).replace('T', ' ')
      const tokens = tokensOf(info)
      const tokenText = tokens === undefined ? '?' : groupedNumber(tokens)
      return row(
        ...([time, groupedNumber(info.len), tokenText, oneLine(store.scope)] as const),
        shortOf(sessions[index] as (typeof sessions)[number]),
      )
    }),
  ]
  const widths = columnWidths(rows)
  const last = widths.length - 1
  const padded = widths.with(last, Math.min(widestId, widths[last] ?? 0))
  const facts = alignRows(rows, (column) => column === 1, padded)
  const width = sumOfWidths(padded) - 2
  const withAbout = (index: number, about: string): readonly string[] => {
    const start = padEnd(facts[index] ?? '', width)
    // On a narrow terminal the description gets its own line.
    if (shows && columns - widthOf(start) < 20 && about !== '')
      return [fitColumns(start.trimEnd(), columns), fitColumns(`  ${about}`, columns)]
    return [fitColumns(`${start}  ${about}`.trimEnd(), columns)]
  }
  await terminal.print(withAbout(0, 'about').map((text) => paint('dim', text)))
  const bar = terminal.progress('reading first words', listed.length, 'sessions')
  for (let from = 0; from < listed.length; from += sessionsAtOnce) {
    const lines = await Promise.all(
      listed
        .slice(from, from + sessionsAtOnce)
        .map(async ({ store, info, marks }, index) =>
          withAbout(1 + from + index, `${marksText(marks)}${await aboutOf(store, info)}`),
        ),
    )
    bar.at(from)
    await terminal.print(lines.flat())
  }
  bar.end()
}

/** The widths of tokens, of the longest scope and of the longest id, for which the others leave space. */
const [tokensWidth, widestScope, widestId] = [11, 16, 36]

/** The most sessions to inspect at the same time: a remote store answers slowly. */
const sessionsAtOnce = 16

/** The project of an imported session, and its title; of a fork, where it began; else the first words of its user. */
export const aboutOf = async (store: Store, info: SessionInfo): Promise<string> => {
  const { forkedFrom } = info
  const title = titleOf(info)
  const fork = forkedFrom && `forked from ${oneLine(forkedFrom.id)} at ${forkedFrom.at}`
  const folder = workFolderOf(info)
  const project = folder === undefined ? '' : `${oneLine(projectIn(folder))}: `
  if (title !== undefined) return `${project}${oneLine(fork === undefined ? title : `${title}, ${fork}`)}`
  if (claudeAgentText(info) !== undefined) return 'Claude Agent SDK, kept as notes'
  return `${project}${fork ?? (await firstWords(store, info))}`
}

/** The first words of its first messages, on one line. Empty if they can't be read. */
const firstWords = async (store: Store, { id, len }: Pick<SessionInfo, 'id' | 'len'>): Promise<string> => {
  for (const to of [3, 12]) {
    const read = len === 0 ? undefined : await readRange(store, id, 0, to)()
    if (read === undefined || isLeft(read)) return ''
    const { view } = read.right
    if (to === 12 || to >= len || hasOwnWords(view)) return oneLine(firstWordsOf(view))
  }
  return ''
}
