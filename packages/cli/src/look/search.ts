/** `indelible search`: finds words in all sessions of a store. `indelible index`: builds an index that speeds it up. */
import { isLeft, present } from 'indelible/internal/json'
import { roles } from 'indelible/internal/message'
import {
  dropIndex,
  indexStore,
  searchStore,
  type SearchHit,
  type SearchOptions,
  type SearchPage,
  type SessionsFound,
} from 'indelible/search'
import type { Store } from 'indelible/store'
import {
  Misuse,
  timeOf,
  Unreadable,
  wholeNumber,
  wordOf,
  type Call,
  type Command,
  type Terminal,
} from '../terminal/command.ts'
import type { Progress } from '../terminal/progress.ts'
import { describeSession, type SessionInfo } from 'indelible/session'
import { keyFileOf } from '../sources/store.ts'
import {
  allScopesOption,
  valueOrUnreadable,
  scopeOf,
  storeOption,
  wholeStoreOption,
  withStore,
  withScopes,
} from '../sources/place.ts'
import { countText, fitColumns, groupedNumber, oneLine, padEnd, widestOf, widthOf } from '../terminal/screen.ts'
import { filterOf, sessionsWhere, whereHelp } from '../sources/list-filter.ts'
import { machinesOf } from '../sources/machines.ts'
import { sessionOrAdvice, sessionsIn, shortIdsByScope } from '../sources/sessions.ts'

export const search: Command = {
  name: 'search',
  synopsis: 'search WORDS',
  purpose: 'find messages in all sessions of a store, or the sessions that a question is about',
  usage: ['search WORDS [options]', 'search "A QUESTION?" [options]'],
  about: `Prints the messages that have all of the words, as SESSION:POSITION
and the text around them. The best matches come first: words close together, in
text of a person. "indelible show SESSION POSITION" prints a whole message. Case
and accents are ignored.

WORDS can contain "words that follow each other", the begin* of a word, and
-words that a message must not have. Put these in single quotes, so that the
shell leaves them as they are. Put words that begin with a dash after --:

  indelible search '"rate limit" retr* -test'
  indelible search -- -test deploy

A text that ends with a question mark is a question; --question makes one of any
text. It finds the sessions that it may be about, the best first, each with its
best messages. No message needs all words, and English words are compared by
their stems: "decide" finds "decided".

  indelible search "when did we decide on SQLite?"

In Chinese, Japanese, Korean and Thai, any characters that follow each other are
found. With an index ("indelible index") a search takes milliseconds; without
one, the messages are read one by one. If a session is damaged, and not all of
its messages were searched, the exit code is 1.`,
  options: {
    sort: { value: 'ORDER', help: 'relevance, or time: the newest session first (default: relevance)' },
    in: { value: 'WHERE', help: 'messages, tools (their calls and results), or all (default: all)' },
    all: { help: 'also messages that were retracted' },
    session: { value: 'SESSION', help: 'only this session, including the messages that it shares with its original' },
    role: { value: 'ROLE', help: `only messages of this role: ${roles.join(', ')}` },
    since: { value: 'TIME', help: 'only messages appended since: 2026-11-22, 2026-11-22T10:00Z, or 7d, 12h, 30m ago' },
    until: { value: 'TIME', help: 'only messages appended before' },
    where: { value: 'TEST', many: true, help: whereHelp },
    question: { help: 'find sessions by a question, even if it does not end with a question mark' },
    limit: { value: 'N', help: 'print at most N messages (default: 20), or N sessions of a question (default: 5)' },
    json: {
      help: 'one JSON object for each message, or each session of a question, and for each session that is damaged or was notSearched',
    },
    ...storeOption,
    ...allScopesOption,
  },
  examples: [
    'indelible search "when did we decide on SQLite?"',
    'indelible search "deploy failed" --in tools',
    `indelible search '"rate limit" -test' --role user --since 7d`,
  ],
  run: async (call) => {
    const { values, positionals, terminal } = call
    const query = positionals.join(' ')
    if (query.trim() === '') throw new Misuse('search needs WORDS')
    const options = optionsIn(values)
    filterOf(values) // report errors before opening a store
    const isQuestion = values['question'] === true || (/[?？؟]\s*$/.test(query) && values['sort'] === undefined)
    if (isQuestion && values['sort'] !== undefined)
      throw new Misuse('--sort orders messages, and a question finds sessions')
    const limit = wholeNumber('--limit', values['limit'], isQuestion ? 5 : 20, 1)
    await withScopes(call, {}, async (scopes, all) => {
      const totals: SearchTotals = {
        hits: 0,
        more: false,
        behind: 0,
        unread: 0,
        indexed: true,
        damaged: new Set(),
        encrypted: new Set(),
      }
      const began = Date.now()
      const plan = { query, options, limit, all, totals }
      if (isQuestion) await searchQuestion(scopes, plan, call)
      else await searchWords(scopes, plan, call)
      if (values['json'] === true)
        await terminal.printJson([
          ...[...totals.damaged].map((id) => ({ session: id, damaged: 'not all of its messages were searched' })),
          ...[...totals.encrypted].map((id) => ({ session: id, notSearched: 'encrypted' })),
        ])
      if (totals.damaged.size > 0) terminal.tellDamage([damagedText(totals.damaged)])
      const isSlow = Date.now() - began > slowMs
      terminal.tell(closingLines(plan, scopes.length, isQuestion ? 'session' : 'message', isSlow, call))
      if (typeof values['session'] === 'string' && totals.encrypted.size > 0)
        throw new Unreadable(`${values['session']}: was not searched`)
    })
  },
}

interface SearchPlan {
  readonly query: string
  readonly options: SearchOptions
  readonly limit: number
  /** Whether all scopes are searched: then they are named. */
  readonly all: boolean
  readonly totals: SearchTotals
}

/** The facts for the closing lines. */
interface SearchTotals {
  hits: number
  more: boolean
  behind: number
  /** The rows that a question left unread. */
  unread: number
  indexed: boolean
  readonly damaged: Set<string>
  readonly encrypted: Set<string>
}

const addTotals = (totals: SearchTotals, page: Partial<SessionsFound> & Pick<SearchPage, 'indexed'>): void => {
  totals.behind = Math.max(totals.behind, page.behind ?? 0)
  totals.unread += page.unread ?? 0
  totals.indexed &&= page.indexed
  for (const id of page.damaged ?? []) totals.damaged.add(id)
  for (const id of page.encrypted ?? []) totals.encrypted.add(id)
}

/** The sessions of a scope that `--session` and `--where` leave; undefined for all. */
const sessionsOfCall = async (
  store: Store,
  { values, terminal }: Call,
): Promise<{ readonly session?: string; readonly sessions?: ReadonlyMap<string, SessionInfo> }> => {
  const only = values['session']
  const session = typeof only === 'string' ? await sessionOrAdvice(store, only, terminal) : undefined
  const sessions = values['where'] === undefined ? undefined : await sessionsWhere(store, values, terminal)
  return present({ session, sessions })
}

/** Prints the sessions that a question may be about, the best of all scopes first. */
const searchQuestion = async (scopes: readonly Store[], plan: SearchPlan, call: Call): Promise<void> => {
  const { query: question, limit, all, totals } = plan
  const { sort: _, ...options } = plan.options
  const { values, terminal } = call
  const found: { readonly store: Store; readonly id: string; readonly session: SessionsFound['sessions'][number] }[] =
    []
  for (const store of scopes) {
    const { session, sessions } = await sessionsOfCall(store, call)
    const filters = present({ session, sessions: sessions && [...sessions.keys()] })
    const result = await terminal.waiting('searching', () =>
      valueOrUnreadable(searchStore(store, { question, ...options, ...filters, limit: Math.min(100, limit) })),
    )
    for (const each of result.sessions) found.push({ store, id: each.session, session: each })
    if (result.more > 0) totals.more = true
    addTotals(totals, result)
  }
  const best = found.toSorted((a, b) => b.session.score - a.session.score).slice(0, limit)
  totals.hits = best.length
  if (best.length < found.length) totals.more = true
  if (values['json'] === true)
    return terminal.printJson(best.map(({ store, session }) => ({ ...(all && { scope: store.scope }), ...session })))
  const shortOf = await shortIdsByScope(best, terminal)
  const lines: string[] = []
  for (const hit of best) {
    const { store, session } = hit
    const info = await valueOrUnreadable(describeSession(store, session.session))
    const scope = all ? `${oneLine(store.scope)}  ` : ''
    const more = session.more === 0 ? '' : `  ${groupedNumber(session.more)} more`
    const day = new Date(info.appended).toISOString().slice(0, 10)
    const machines = machinesOf(info.metadata).map((machine) => `  ${oneLine(machine)}`)
    lines.push(
      `${scope}${terminal.paint('cyan', shortOf(hit))}  ${terminal.paint('dim', `${day}${machines.join('')}${more}`)}`,
    )
    for (const { position, role: speaker, excerpt } of session.passages) {
      const head = `  ${padEnd(`${position}`, 5)} ${speaker}  `
      lines.push(
        `${terminal.paint('dim', head)}${excerptOf(excerpt, Math.max(20, terminal.columns - widthOf(head)), terminal.paint)}`,
      )
    }
  }
  return terminal.print(lines)
}

/** A message that was found. */
interface Found {
  readonly store: Store
  readonly id: string
  readonly hit: SearchHit
  /** The machines that its session was sent from. */
  readonly machines: readonly string[]
}

/** Prints the messages with all of the words: of one scope as they are found, of several the best of all. */
const searchWords = async (scopes: readonly Store[], plan: SearchPlan, call: Call): Promise<void> => {
  const { options, limit, all, totals } = plan
  const { values, terminal } = call
  const print = async (found: readonly Found[]): Promise<void> => {
    if (values['json'] === true)
      await terminal.printJson(
        found.map(({ store, hit, machines }) => ({
          ...(all && { scope: store.scope }),
          ...hit,
          ...(machines.length > 0 && { machines }),
        })),
      )
    else await terminal.print(linesOf(found, all, await shortIdsByScope(found, terminal), terminal))
  }
  const found: Found[] = []
  for (const store of scopes)
    await searchScope(store, plan, call, async (hits) => {
      if (scopes.length === 1) await print(hits)
      else for (const hit of hits) found.push(hit)
    })
  if (found.length > limit) totals.more = true
  await print(found.toSorted(({ hit: a }, { hit: b }) => compareHits(a, b, options.sort)).slice(0, limit))
}

/** The hits of a scope, with the machines of their sessions. */
const foundIn = async (store: Store, hits: readonly SearchHit[]): Promise<readonly Found[]> => {
  const machines = new Map<string, readonly string[]>()
  for (const id of new Set(hits.map(({ session }) => session))) {
    const info = await describeSession(store, id)()
    machines.set(id, isLeft(info) ? [] : machinesOf(info.right.metadata))
  }
  return hits.map((hit) => ({ store, id: hit.session, hit, machines: machines.get(hit.session) ?? [] }))
}

/** The milliseconds after which a search without an index suggests one. */
const slowMs = 2000

/** The order of hits from different scopes: the same as within each scope. */
const compareHits = (a: SearchHit, b: SearchHit, sort: SearchOptions['sort']): number =>
  sort === 'time' ? (b.at ?? 0) - (a.at ?? 0) : b.score - a.score

const closingLines = (
  { limit, totals }: SearchPlan,
  scopes: number,
  what: 'message' | 'session',
  isSlow: boolean,
  call: Call,
): readonly string[] => {
  const { hits, more, behind, unread, encrypted, indexed } = totals
  const lines: string[] = []
  if (hits === 0 && !more)
    lines.push(
      `no ${what} in ${scopes === 1 ? 'this scope' : 'these scopes'} has ${what === 'message' ? 'all' : 'any'} of these words`,
    )
  if (more) lines.push(`there may be more; try --limit ${limit * 10}`)
  if (behind > 0)
    lines.push(
      `${countText(behind, 'row')} of the store ${behind === 1 ? 'is' : 'are'} not in its index yet, and were not searched: "indelible index" adds them`,
    )
  if (unread > 0)
    lines.push(
      `there is no index, so only the newest messages were read, and ${countText(unread, 'row')} were not: "indelible index" makes them searchable`,
    )
  if (encrypted.size > 0)
    lines.push(
      `${countText(encrypted.size, 'encrypted session')} ${encrypted.size === 1 ? 'was' : 'were'} not searched: ${sessionNames(encrypted)}; ${keyAdvice(call, encrypted.size)}`,
    )
  if (!indexed && unread === 0 && keyFileOf(call.values, call.terminal) === undefined && isSlow)
    lines.push(`there is no index, so every message was scanned; "indelible index" creates one`)
  return lines
}

const damagedText = (sessions: ReadonlySet<string>): string =>
  `${sessionNames(sessions)} ${sessions.size === 1 ? 'is damaged: not all of its' : 'are damaged: not all of their'} messages were searched; run "indelible verify" for details`

/** Advice about sessions that were not searched. */
export const keyAdvice = ({ values, terminal }: Pick<Call, 'values' | 'terminal'>, sessions: number): string => {
  const file = keyFileOf(values, terminal)
  return file === undefined
    ? 'give --key-file FILE'
    : `${file} has no key for ${sessions === 1 ? 'it' : 'them'}, or it was destroyed`
}

/** Ids, as many as fit a line. */
export const sessionNames = (ids: ReadonlySet<string>): string =>
  `${[...ids].slice(0, 5).map(oneLine).join(', ')}${ids.size > 5 ? ' …' : ''}`

/** Searches a scope page by page, up to the limit. */
const searchScope = async (
  store: Store,
  { query, options, limit, totals }: SearchPlan,
  call: Call,
  onFound: (found: readonly Found[]) => Promise<void>,
): Promise<void> => {
  const { terminal } = call
  const { session, sessions } = await sessionsOfCall(store, call)
  let [after, hits, read]: [string | undefined, number, number] = [undefined, 0, 0]
  let bar: Progress | undefined
  do {
    if (hits >= limit) {
      totals.more = true
      break
    }
    const pageOptions = { ...options, limit: Math.min(1000, limit - hits), ...present({ session, after }) }
    const nextPage = (): Promise<SearchPage> => valueOrUnreadable(searchStore(store, query, pageOptions))
    const page: SearchPage = bar === undefined ? await terminal.waiting('searching', nextPage) : await nextPage()
    const passed = sessions === undefined ? page.hits : page.hits.filter((hit) => sessions.has(hit.session))
    hits += passed.length
    totals.hits += passed.length
    addTotals(totals, page)
    await onFound(await foundIn(store, passed))
    after = page.next
    if (page.read === undefined || after === undefined) continue
    bar ??= terminal.progress('searching without an index', await rowsOf(store, session), 'rows')
    bar.at((read += page.read))
  } while (after !== undefined)
  bar?.end()
}

/** The most rows that a search without an index reads. */
const rowsOf = async (store: Store, session: string | undefined): Promise<number> => {
  if (session !== undefined) return (await valueOrUnreadable(describeSession(store, session))).head.size
  return (await sessionsIn(store)).reduce((sum, { head, forkedFrom }) => sum + head.size - (forkedFrom?.at ?? 0), 0)
}

/** Lines for hits: the place, and as much text around the first word as fits; on a narrow terminal below the place. */
const linesOf = (
  found: readonly Found[],
  all: boolean,
  shortOf: (found: Found) => string,
  { columns, paint, shows }: Terminal,
): readonly string[] => {
  const heads = found.map((entry) => {
    const { position, retracted, role, in: where } = entry.hit
    const scope = all ? `${oneLine(entry.store.scope)}  ` : ''
    const beside = `${role}${where === 'tool' && role !== 'tool' ? ' tool' : ''}${retracted ? ' retracted' : ''}${entry.machines.map((machine) => ` ${oneLine(machine)}`).join('')}`
    return { place: `${scope}${shortOf(entry)}:${position}`, beside }
  })
  const widest = (name: 'place' | 'beside'): number => widestOf(heads.map((head) => head[name]))
  // A pipe needs no aligned columns, and its reader cuts the lines itself.
  const [placeWidth, besideWidth] = shows ? [widest('place'), widest('beside')] : [0, 0]
  return found.flatMap(({ hit }, index) => {
    const { place, beside } = heads[index] as (typeof heads)[number]
    const head = `${paint('cyan', padEnd(place, placeWidth))}  ${paint('dim', padEnd(beside, besideWidth))}`
    const width = columns - Math.max(placeWidth, widthOf(place)) - Math.max(besideWidth, widthOf(beside)) - 4
    if (width >= columns >> 1) return [`${head}  ${excerptOf(hit.excerpt, width, paint)}`]
    return shows
      ? [`${paint('cyan', place)}  ${paint('dim', beside)}`, `  ${excerptOf(hit.excerpt, columns - 2, paint)}`]
      : [`${head}  ${excerptOf(hit.excerpt, Math.max(width, columns >> 1), paint)}`]
  })
}

const excerptOf = (excerpt: SearchHit['excerpt'], width: number, paint: Terminal['paint']): string => {
  let rest = width
  const pieces: string[] = []
  let at = startOf(excerpt, width)
  if (excerpt.cutBefore || at > 0) {
    pieces.push('…')
    rest -= 1
  }
  const add = (to: number, style: 'none' | 'bold'): void => {
    const raw = excerpt.text.slice(at, to)
    const text = `${/^\s/.test(raw) ? ' ' : ''}${oneLine(raw)}${/\S\s+$/.test(raw) ? ' ' : ''}`
    const shown = fitColumns(text, rest)
    if (shown !== '') pieces.push(style === 'none' ? shown : paint('bold', paint('yellow', shown)))
    rest -= widthOf(shown) + (shown === text ? 0 : rest)
    at = to
  }
  for (const [from, to] of excerpt.marks) {
    if (to <= at) continue
    if (from > at) add(from, 'none')
    add(to, 'bold')
  }
  if (at < excerpt.text.length) add(excerpt.text.length, 'none')
  if (excerpt.cutAfter && rest > 0) pieces.push('…')
  return pieces.join('')
}

/** Where to start the shown text, so that it contains the first word found. */
const startOf = ({ text, marks }: SearchHit['excerpt'], width: number): number => {
  const [first] = marks[0] ?? [0]
  const before = Math.floor(width / 3)
  if (first <= before) return 0
  const from = first - before
  const space = text.slice(from, first).search(/\s/)
  return space === -1 ? from : from + space + 1
}

const optionsIn = (values: Call['values']): SearchOptions => {
  const role = wordOf('--role', values['role'], roles, undefined)
  const since = timeOf('--since', values['since'])
  const until = timeOf('--until', values['until'])
  return {
    sort: wordOf('--sort', values['sort'], ['relevance', 'time'], 'relevance'),
    in: wordOf('--in', values['in'], ['messages', 'tools', 'all'], 'all'),
    retracted: values['all'] === true,
    ...present({ role, since, until }),
  }
}

export const index: Command = {
  name: 'index',
  synopsis: 'index',
  purpose: 'create the search index of a store',
  usage: ['index [options]'],
  about: `Creates an index of the words of all sessions of a store, in all
scopes, or adds the rows that it lacks. From then on every append is indexed.
Others may read and write meanwhile. After an interruption, call it again to
continue.

The index is stored in the store and can be dropped and created again at any
time. Encrypted sessions are not in it: a search with their keys reads their
messages one by one. Erasing a message also removes it from the index.`,
  options: {
    rebuild: { help: 'rebuild the index' },
    drop: { help: 'remove it' },
    ...wholeStoreOption,
  },
  run: async (call) => {
    const { values, terminal } = call
    if (values['drop'] === true && values['rebuild'] === true)
      throw new Misuse('--drop and --rebuild exclude each other')
    // No keys: encrypted sessions are never indexed.
    await withStore(call, { bare: true }, async (store) => {
      if (values['drop'] === true) {
        await valueOrUnreadable(dropIndex(store))
        return terminal.print(['the index was removed'])
      }
      const rows = await buildIndex(store, terminal, values['rebuild'] === true)
      const encrypted = new Set<string>()
      const damaged = new Set<string>()
      for (const name of (await valueOrUnreadable(store.scopes())) ?? [store.scope]) {
        const scope = scopeOf(store, name)
        const { index } = scope
        if (index === undefined) continue
        for (const id of await valueOrUnreadable(index.encrypted())) encrypted.add(id)
        // The first page of any search lists them.
        for (const id of (await valueOrUnreadable(searchStore(scope, 'index', { limit: 1 }))).damaged ?? [])
          damaged.add(id)
      }
      const all = `the index has all rows${encrypted.size === 0 ? '' : ' that are not encrypted'}`
      if (damaged.size > 0) terminal.tellDamage([damagedText(damaged)])
      await terminal.print([rows === 0 ? all : `${groupedNumber(rows)} ${rows === 1 ? 'row' : 'rows'} indexed`])
      if (encrypted.size > 0)
        terminal.tell([`not indexed: ${countText(encrypted.size, 'encrypted session')}: ${sessionNames(encrypted)}; a search with --key-file reads them`]) // oxfmt-ignore
    })
  },
}

/** Build an index, with a progress bar. */
const buildIndex = async (store: Store, terminal: Terminal, rebuild: boolean): Promise<number> => {
  let bar: ReturnType<Terminal['progress']> | undefined
  const rows = await valueOrUnreadable(
    indexStore(store, {
      rebuild,
      progress: (done, of) => {
        bar ??= terminal.progress('indexing', of, 'rows')
        bar.at(done)
      },
    }),
  )
  bar?.end()
  return rows
}
