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
import { describeSession } from 'indelible/session'
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
import { sessionOrAdvice, sessionsIn, shortIdsIn } from '../sources/sessions.ts'

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
      if (isQuestion) {
        await answer(call, scopes, all, query, options, limit, totals)
        await end(totals, limit, scopes.length, began, call, 'session')
        return
      }
      const print = async (found: readonly Found[]): Promise<void> => {
        const machines = await machinesOfHits(scopes, found)
        if (values['json'] === true)
          await terminal.printJson(
            found.map((hit) => ({
              ...(all && { scope: hit.scope }),
              ...hit.hit,
              ...present({ machines: machines(hit) }),
            })),
          )
        else await terminal.print(linesOf(found, all, await shortIdsOf(scopes, found, terminal), machines, terminal))
      }
      const found: Found[] = []
      for (const store of scopes)
        await searchOneStore(store, query, options, limit, call, totals, async (hits) => {
          const here = hits.map((hit) => ({ scope: store.scope, hit }))
          if (scopes.length === 1) await print(here)
          else for (const hit of here) found.push(hit)
        })
      if (found.length > limit) totals.more = true
      await print(found.toSorted(({ hit: a }, { hit: b }) => compareHits(a, b, options.sort)).slice(0, limit))
      await end(totals, limit, scopes.length, began, call, 'message')
    })
  },
}

/** Reports sessions that were not searched, and prints the closing lines. */
const end = async (
  totals: SearchTotals,
  limit: number,
  scopes: number,
  began: number,
  call: Call,
  what: 'message' | 'session',
): Promise<void> => {
  const { values, terminal } = call
  if (values['json'] === true)
    await terminal.printJson([
      ...[...totals.damaged].map((id) => ({ session: id, damaged: 'not all of its messages were searched' })),
      ...[...totals.encrypted].map((id) => ({ session: id, notSearched: 'encrypted' })),
    ])
  await tell(totals, limit, scopes, began, call, what)
  if (typeof values['session'] === 'string' && totals.encrypted.size > 0)
    throw new Unreadable(`${values['session']}: was not searched`)
}

type FoundSession = SessionsFound['sessions'][number]

/** Prints the sessions that a question may be about, the best of all scopes first. */
const answer = async (
  { values, terminal }: Call,
  scopes: readonly Store[],
  all: boolean,
  question: string,
  { in: where, retracted, role, since, until }: SearchOptions,
  limit: number,
  totals: SearchTotals,
): Promise<void> => {
  const found: { readonly store: Store; readonly session: FoundSession }[] = []
  for (const store of scopes) {
    const only = values['session']
    const session = typeof only === 'string' ? await sessionOrAdvice(store, only, terminal) : undefined
    const passing = values['where'] === undefined ? undefined : await sessionsWhere(store, values, terminal)
    const filters = present({
      in: where,
      retracted,
      role,
      since,
      until,
      session,
      sessions: passing && [...passing.keys()],
    })
    const result = await terminal.waiting('searching', () =>
      valueOrUnreadable(searchStore(store, { question, ...filters, limit: Math.min(100, limit) })),
    )
    for (const each of result.sessions) found.push({ store, session: each })
    if (result.more > 0) totals.more = true
    totals.behind = Math.max(totals.behind, result.behind ?? 0)
    totals.unread += result.unread ?? 0
    totals.indexed &&= result.indexed
    for (const id of result.damaged ?? []) totals.damaged.add(id)
    for (const id of result.encrypted ?? []) totals.encrypted.add(id)
  }
  const best = found.toSorted((a, b) => b.session.score - a.session.score).slice(0, limit)
  totals.hits = best.length
  if (best.length < found.length) totals.more = true
  if (values['json'] === true)
    return terminal.printJson(best.map(({ store, session }) => ({ ...(all && { scope: store.scope }), ...session })))
  const lines: string[] = []
  for (const { store, session } of best) {
    const info = await valueOrUnreadable(describeSession(store, session.session))
    const scope = all ? `${oneLine(store.scope)}  ` : ''
    const more = session.more === 0 ? '' : `  ${groupedNumber(session.more)} more`
    const id = (await shortIdsIn(store, [session.session], terminal))(session.session)
    const day = new Date(info.appended).toISOString().slice(0, 10)
    const machines = machinesOf(info.metadata).map((machine) => `  ${oneLine(machine)}`)
    lines.push(`${scope}${terminal.paint('cyan', id)}  ${terminal.paint('dim', `${day}${machines.join('')}${more}`)}`)
    for (const { position, role: speaker, excerpt } of session.passages) {
      const head = `  ${padEnd(`${position}`, 5)} ${speaker}  `
      lines.push(
        `${terminal.paint('dim', head)}${excerptOf(excerpt, Math.max(20, terminal.columns - widthOf(head)), terminal.paint)}`,
      )
    }
  }
  return terminal.print(lines)
}

const shortIdsOf = async (
  scopes: readonly Store[],
  found: readonly Found[],
  terminal: Terminal,
): Promise<(found: Found) => string> => {
  const short = new Map<string, (id: string) => string>()
  for (const store of scopes) {
    const ids = found.filter(({ scope }) => scope === store.scope).map(({ hit }) => hit.session)
    short.set(store.scope, await shortIdsIn(store, ids, terminal))
  }
  return ({ scope, hit: { session } }) => short.get(scope)?.(session) ?? oneLine(session)
}

/** The machines that the sessions of hits were sent from. */
const machinesOfHits = async (
  scopes: readonly Store[],
  found: readonly Found[],
): Promise<(found: Found) => readonly string[] | undefined> => {
  const machines = new Map<string, readonly string[]>()
  for (const store of scopes)
    for (const id of new Set(found.flatMap(({ scope, hit }) => (scope === store.scope ? [hit.session] : [])))) {
      const info = await describeSession(store, id)()
      const names = isLeft(info) ? [] : machinesOf(info.right.metadata)
      if (names.length > 0) machines.set(`${store.scope} ${id}`, names)
    }
  return ({ scope, hit }) => machines.get(`${scope} ${hit.session}`)
}

/** The milliseconds after which a search without an index suggests one. */
const slowMs = 2000

interface Found {
  readonly scope: string
  readonly hit: SearchHit
}

/** The order of hits from different scopes: the same as within each scope. */
const compareHits = (a: SearchHit, b: SearchHit, sort: SearchOptions['sort']): number =>
  sort === 'time' ? (b.at ?? 0) - (a.at ?? 0) : b.score - a.score

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

const tell = async (
  totals: SearchTotals,
  limit: number,
  scopes: number,
  began: number,
  call: Call,
  what: 'message' | 'session',
): Promise<void> => {
  const { terminal } = call
  const lines: string[] = []
  if (totals.hits === 0 && !totals.more)
    lines.push(
      `no ${what} in ${scopes === 1 ? 'this scope' : 'these scopes'} has ${what === 'message' ? 'all' : 'any'} of these words`,
    )
  if (totals.more) lines.push(`there may be more; try --limit ${limit * 10}`)
  if (totals.behind > 0)
    lines.push(
      `${countText(totals.behind, 'row')} of the store ${totals.behind === 1 ? 'is' : 'are'} not in its index yet, and were not searched: "indelible index" adds them`,
    )
  if (totals.unread > 0)
    lines.push(
      `there is no index, so only the newest messages were read, and ${countText(totals.unread, 'row')} were not: "indelible index" makes them searchable`,
    )
  if (totals.encrypted.size > 0)
    lines.push(
      `${countText(totals.encrypted.size, 'encrypted session')} ${totals.encrypted.size === 1 ? 'was' : 'were'} not searched: ${sessionNames(totals.encrypted)}; ${keyAdvice(call, totals.encrypted.size)}`,
    )
  if (
    !totals.indexed &&
    totals.unread === 0 &&
    keyFileOf(call.values, terminal) === undefined &&
    Date.now() - began > slowMs
  )
    lines.push(`there is no index, so every message was scanned; "indelible index" creates one`)
  if (totals.damaged.size > 0) terminal.tellDamage([damagedText(totals.damaged)])
  terminal.tell(lines)
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

const searchOneStore = async (
  store: Store,
  query: string,
  input: SearchOptions,
  limit: number,
  { values, terminal }: Call,
  totals: SearchTotals,
  found: (hits: readonly SearchHit[]) => Promise<void>,
): Promise<void> => {
  const only = values['session']
  const session = typeof only === 'string' ? await sessionOrAdvice(store, only, terminal) : undefined
  const options = { ...input, ...(session !== undefined && { session }) }
  const passing = values['where'] === undefined ? undefined : await sessionsWhere(store, values, terminal)
  let [after, hits, read]: [string | undefined, number, number] = [undefined, 0, 0]
  let bar: Progress | undefined
  do {
    if (hits >= limit) {
      totals.more = true
      break
    }
    const nextPage = (): Promise<SearchPage> =>
      valueOrUnreadable(
        searchStore(store, query, {
          ...options,
          limit: Math.min(1000, limit - hits),
          ...(after !== undefined && { after }),
        }),
      )
    const page: SearchPage = bar === undefined ? await terminal.waiting('searching', nextPage) : await nextPage()
    const passed = passing === undefined ? page.hits : page.hits.filter(({ session: id }) => passing.has(id))
    hits += passed.length
    totals.hits += passed.length
    totals.behind = Math.max(totals.behind, page.behind ?? 0)
    totals.indexed &&= page.indexed
    for (const id of page.damaged ?? []) totals.damaged.add(id)
    for (const id of page.encrypted ?? []) totals.encrypted.add(id)
    await found(passed)
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
  idIn: (found: Found) => string,
  machinesOfHit: (found: Found) => readonly string[] | undefined,
  { columns, paint, shows }: Terminal,
): readonly string[] => {
  const heads = found.map((group) => {
    const { position, retracted, role, in: where } = group.hit
    const scope = all ? `${oneLine(group.scope)}  ` : ''
    const beside = `${role}${where === 'tool' && role !== 'tool' ? ' tool' : ''}${retracted ? ' retracted' : ''}${(machinesOfHit(group) ?? []).map((machine) => ` ${oneLine(machine)}`).join('')}`
    return { place: `${scope}${idIn(group)}:${position}`, beside }
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
