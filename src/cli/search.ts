/** `indelible search`: words in all sessions of a store. `indelible index`: the index that makes it fast. */
import { isRole, roles } from '../message/index.ts'
import { dropIndex, indexStore, searchStore, type SearchHit, type SearchOptions } from '../search/index.ts'
import type { Store } from '../store/index.ts'
import { Misuse, wholeNumber, type Call, type Command, type Terminal } from './command.ts'
import { allScopesOption, answer, storeOption, wholeStoreOption, withScopes, withStore } from './place.ts'
import { counted, grouped, oneLine, widthOf } from './screen.ts'
import { sessionOrAdvice } from './sessions.ts'

export const search: Command = {
  name: 'search',
  synopsis: 'search WORDS',
  purpose: 'find messages in all sessions of a store',
  usage: ['search WORDS [options]'],
  about: `Prints the messages that have all of the words, as SESSION:POSITION and the text around them: the newest session
first. "indelible show SESSION POSITION" shows one whole. Case and accents don't count.

WORDS can have "words that follow each other", the begin* of a word, and -words that a message must not have. Put these in
single quotes, so that the shell leaves them as they are:

  indelible search '"rate limit" retr* -test'

In Chinese, Japanese, Korean and Thai, any characters that follow each other are found. With an index ("indelible index") a
search lasts milliseconds; without one, the messages are read one by one.`,
  options: {
    in: { value: 'WHERE', help: 'messages, tools (their calls and results), or all (default: all)' },
    all: { help: 'also messages that were retracted' },
    session: { value: 'SESSION', help: 'only this session, with what it shares with the one it was forked from' },
    role: { value: 'ROLE', help: `only messages of this role: ${roles.join(', ')}` },
    since: { value: 'TIME', help: 'only messages appended since: 2026-11-22, 2026-11-22T10:00Z, or 7d, 12h, 30m ago' },
    until: { value: 'TIME', help: 'only messages appended before' },
    limit: { value: 'N', help: 'print at most N messages (default: 20)' },
    json: { help: 'one JSON object for each message, for programs' },
    index: { help: 'make the index first, if the store has none' },
    ...storeOption,
    ...allScopesOption,
  },
  examples: [
    'indelible search "deploy failed" --in tools',
    `indelible search '"rate limit" -test' --role user --since 7d`,
  ],
  run: async (call) => {
    const { values, positionals, terminal } = call
    const query = positionals.join(' ')
    if (query.trim() === '') throw new Misuse('search needs WORDS: what to look for')
    const options = optionsIn(values)
    const limit = wholeNumber('--limit', values['limit'], 20)
    if (limit < 1) throw new Misuse('--limit takes a whole number from 1')
    await withScopes(call, async (scopes, all) => {
      const [first] = scopes
      if (values['index'] === true && first !== undefined) await indexed(first, terminal)
      const told: Told = { hits: 0, more: false, behind: 0, indexed: true, damaged: [] }
      const began = Date.now()
      for (const store of scopes) await searched(store, query, options, limit, call, all, told)
      if (told.hits === 0 && !told.more) terminal.tell([`no message of ${scopes.length === 1 ? 'this store' : 'these scopes'} has all of these words`]) // prettier-ignore
      if (told.more) terminal.tell([`there may be more: --limit ${limit * 10} looks for as many`])
      if (told.behind > 0)
        terminal.tell([`${counted(told.behind, 'row')} of the store ${told.behind === 1 ? 'is' : 'are'} not in its index yet, and were not searched: "indelible index" adds them`]) // prettier-ignore
      if (told.damaged.length > 0)
        terminal.tell([`not searched, because damaged: ${told.damaged.map(oneLine).join(', ')}; "indelible verify" says more`]) // prettier-ignore
      if (!told.indexed && Date.now() - began > slow)
        terminal.tell(['the messages were read one by one; "indelible index" makes searches fast'])
    })
  },
}

/** Milliseconds after which a search without an index says that there could be one. */
const slow = 2000

/** What there is to say at the end. */
interface Told {
  hits: number
  more: boolean
  behind: number
  indexed: boolean
  damaged: string[]
}

const searched = async (
  store: Store,
  query: string,
  given: SearchOptions,
  limit: number,
  { values, terminal }: Call,
  all: boolean,
  told: Told,
): Promise<void> => {
  const named = values['session']
  const session = typeof named === 'string' ? await sessionOrAdvice(store, named, terminal) : undefined
  const options = { ...given, ...(session !== undefined && { session }) }
  let after: string | undefined
  do {
    if (told.hits >= limit) return void (told.more = true)
    const page = await terminal.waiting(
      'searching',
      () =>
      answer(searchStore(store, query, { ...options, limit: Math.min(1000, limit - told.hits), ...(after !== undefined && { after }) })), // prettier-ignore
    )
    told.hits += page.hits.length
    told.behind = Math.max(told.behind, page.behind ?? 0)
    told.indexed &&= page.indexed
    told.damaged.push(...(page.damaged ?? []))
    if (values['json'] === true)
      await terminal.printJson(page.hits.map((hit) => JSON.stringify({ ...(all && { scope: store.scope }), ...hit })))
    else await terminal.print(page.hits.map((hit) => lineOf(hit, all ? store.scope : undefined, terminal)))
    after = page.next
  } while (after !== undefined)
}

/** One hit: where it is, and the text around the first of its words, as much as fits. */
const lineOf = (hit: SearchHit, scope: string | undefined, { columns, paint }: Terminal): string => {
  const { excerpt, session, position, retracted, role } = hit
  const place = `${scope === undefined ? '' : `${oneLine(scope)}  `}${oneLine(session)}:${position}`
  const beside = `${role}${hit.in === 'tool' && role !== 'tool' ? ' tool' : ''}${retracted ? ' retracted' : ''}`
  const room = Math.max(20, columns - widthOf(place) - widthOf(beside) - 4)
  let rest = room
  const pieces: string[] = []
  let at = startOf(excerpt, room)
  if (excerpt.cutBefore || at > 0) {
    pieces.push('…')
    rest -= 1
  }
  const add = (to: number, style: 'none' | 'bold'): void => {
    const raw = excerpt.text.slice(at, to)
    const text = `${/^\s/.test(raw) ? ' ' : ''}${oneLine(raw)}${/\S\s+$/.test(raw) ? ' ' : ''}`
    const shown = widthOf(text) <= rest ? text : cut(text, rest)
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
  return `${paint('cyan', place)}  ${paint('dim', beside)}  ${pieces.join('')}`
}

/** Where the shown text begins, so that the first found word is in it. */
const startOf = ({ text, marks }: SearchHit['excerpt'], room: number): number => {
  const [first] = marks[0] ?? [0]
  const before = Math.floor(room / 3)
  if (first <= before) return 0
  const from = first - before
  const space = text.slice(from, first).search(/\s/)
  return space === -1 ? from : from + space + 1
}

/** As many columns of a text. */
const cut = (text: string, columns: number): string => {
  if (columns <= 0) return ''
  let kept = ''
  let width = 0
  for (const character of text) {
    width += widthOf(character)
    if (width > columns - 1) break
    kept += character
  }
  return `${kept}…`
}

const optionsIn = (values: Call['values']): SearchOptions => {
  const { in: where = 'all', role } = values
  if (where !== 'messages' && where !== 'tools' && where !== 'all')
    throw new Misuse(`--in takes messages, tools or all, not "${String(where)}"`)
  if (role !== undefined && !isRole(role)) throw new Misuse(`--role takes ${roles.join(', ')}, not "${String(role)}"`)
  const since = timeOf('--since', values['since'])
  const until = timeOf('--until', values['until'])
  return {
    in: where,
    retracted: values['all'] === true,
    ...(role !== undefined && { role }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
  }
}

const units: { readonly [unit: string]: number } = { d: 86_400_000, h: 3_600_000, m: 60_000 }

const timeOf = (option: string, given: unknown): number | undefined => {
  if (typeof given !== 'string') return undefined
  const [, count, unit] = /^(\d{1,6})([dhm])$/.exec(given) ?? []
  const time = unit === undefined ? Date.parse(given) : Date.now() - Number(count) * (units[unit] as number)
  if (Number.isNaN(time))
    throw new Misuse(`${option} takes a time, such as 2026-11-22, 2026-11-22T10:00Z, 7d or 12h; not "${given}"`)
  return time
}

export const index: Command = {
  name: 'index',
  synopsis: 'index',
  purpose: 'make the search index of a store',
  usage: ['index [options]'],
  about: `Makes an index of the words of all sessions of a store, in all scopes, or adds what it lacks. From then on every
append is indexed with it. Others may read and write meanwhile; an index that was interrupted goes on with the next call.

The index stands in the store and follows from it: it can be dropped and made again at any time. Encrypted sessions are not
in it, and an erased message leaves it with the erasure.`,
  options: {
    rebuild: { help: 'make it anew' },
    drop: { help: 'remove it' },
    ...wholeStoreOption,
  },
  run: async (call) => {
    const { values, positionals, terminal } = call
    if (positionals.length > 0) throw new Misuse(`index takes no arguments, but got ${positionals.join(', ')}`)
    if (values['drop'] === true && values['rebuild'] === true)
      throw new Misuse('--drop and --rebuild exclude each other')
    await withStore(call, {}, async (store) => {
      if (values['drop'] === true) {
        await answer(dropIndex(store))
        return terminal.print(['the index was removed'])
      }
      const rows = await indexed(store, terminal, values['rebuild'] === true)
      await terminal.print([rows === 0 ? 'the index has all rows' : `${grouped(rows)} ${rows === 1 ? 'row' : 'rows'} indexed`]) // prettier-ignore
    })
  },
}

/** Make an index, with a bar. */
const indexed = async (store: Store, terminal: Terminal, rebuild = false): Promise<number> => {
  let bar: ReturnType<Terminal['progress']> | undefined
  const rows = await answer(
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
