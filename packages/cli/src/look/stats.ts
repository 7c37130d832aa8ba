/** `indelible stats`: the tokens and cost of model calls, by model and day. */
import { usageDollars } from 'indelible/internal/context'
import { isLeft } from 'indelible/internal/json'
import { describeSession, readRange, type SessionInfo } from 'indelible/session'
import { readUsage, usesOf, type CallUse } from 'indelible/internal/session'
import type { Usage } from 'indelible/internal/notes'
import type { Store } from 'indelible/store'
import { Misuse, type Call, type Command, type Terminal } from '../terminal/command.ts'
import { isFile, sessionIn } from '../sources/conversation.ts'
import { keyFileOf } from '../sources/store.ts'
import { nameOf, pickOf, readTranscriptFile } from '../sources/input.ts'
import { allScopesOption, valueOrUnreadable, storeOption, withScopes, withStore } from '../sources/place.ts'
import { dollarsText } from '@indelible/view/internal'
import { leftOutLines } from '../terminal/report.ts'
import {
  countText,
  fitColumns,
  fitMiddle,
  groupedNumber,
  oneLine,
  padEnd,
  padStart,
  widestOf,
} from '../terminal/screen.ts'
import { keyAdvice, sessionNames } from './search.ts'
import { aboutOf } from './list.ts'
import { sessionsIn } from '../sources/sessions.ts'
import { shortIds } from '../sources/short-ids.ts'

export const stats: Command = {
  name: 'stats',
  synopsis: 'stats [SESSION]',
  purpose: 'print tokens, cached share and cost by model and day',
  usage: ['stats [options]', 'stats [options] SESSION', 'stats [options] FILE'],
  about: `Adds up the model calls of all sessions of a store, of one session, or
of a file: the tokens of the requests, the share that the provider read from its
cache, the tokens of the answers, and the cost at list prices. The prices are those of modelPrices in indelible/context,
a table in this version; a model that is not in it has the cost ?, or null with --json.

The figures are the provider's: from the receipts of runs and "indelible
record", and from imported files. Nothing is estimated: calls without figures
are counted and add nothing. The days are those of the calls (UTC; for a file,
its own). If a file contains only totals, costs lack the surcharge for long
requests. A fork counts only its own calls, not those that it shares with its original.

Receipts are read as they are stored: "indelible verify" finds altered ones.
"indelible show SESSION --calls" lists the calls of a session, "--call dearest" prints the one that cost most.`,
  options: {
    by: { value: 'WHAT', help: 'model, day, session, or several with commas (default: day,model)' },
    pick: { value: 'N', help: 'which conversation, if FILE has several (default 0)' },
    json: { help: 'one JSON object for each line, for programs' },
    ...storeOption,
    ...allScopesOption,
  },
  examples: ['indelible stats --by model', 'indelible stats session.jsonl'],
  run: async (call) => {
    const { values, positionals, terminal } = call
    const by = fieldsOf(values['by'])
    const [name, ...others] = positionals
    if (others.length > 0) throw new Misuse(`stats takes one SESSION or FILE, but got ${positionals.length}`)
    pickOf(values)
    const unread = new Set<string>()
    const ids: string[] = []
    const shows = by.includes('session') && values['json'] !== true
    const spent = await spendingOf(name, call, unread, ids, shows ? aboutOf : async () => '')
    const left = unread.size === 0 ? [] : [`${countText(unread.size, 'encrypted session')} ${unread.size === 1 ? 'was' : 'were'} not read: ${sessionNames(unread)}; ${keyAdvice(call, unread.size)}`] // oxfmt-ignore
    const rows = tableOf(spent, by)
    if (values['json'] === true)
      await terminal.printJson(
        rows.map(({ keys, sum }) => ({ ...rowKey(by, keys), ...sum, dollars: isPriceless(sum) ? null : sum.dollars })),
      )
    else if (spent.length > 0) await terminal.print(tableLines(rows, by, shortIds(ids, terminal), terminal))
    else if (name === undefined)
      terminal.tell([`no session${left.length === 0 ? '' : ' that could be read'} has token counts of its calls`]) // oxfmt-ignore
    else if (left.length === 0) terminal.tell([`${name}: has no token counts of its calls`])
    terminal.tell(left)
    if (values['json'] === true) return
    warnOfMissing(spent, terminal)
  },
}

const fields = ['day', 'model', 'session'] as const
type Field = (typeof fields)[number]

const fieldsOf = (given: unknown): readonly Field[] =>
  (typeof given === 'string' ? given.split(',') : ['day', 'model']).map((name) => {
    const found = fields.find((field) => field === name)
    if (found === undefined) throw new Misuse(`--by takes ${fields.join(', ')}, not "${name}"`)
    return found
  })

/** A call, and the session or file that it belongs to. */
interface CountedUse {
  readonly session: string
  readonly use: CallUse
  /** What a list says of the session; empty if the table does not show sessions. */
  readonly about: string
}

/** The calls. The names of all inspected sessions are added to `ids`. */
const spendingOf = async (
  name: string | undefined,
  call: Call,
  unread: Set<string>,
  ids: string[],
  about: typeof aboutOf,
): Promise<readonly CountedUse[]> => {
  const { values, terminal } = call
  if (name !== undefined && isFile(name, call)) {
    const { origin, damage } = await readTranscriptFile(name, { pick: pickOf(values) }, terminal)
    terminal.tellDamage(leftOutLines(nameOf(name), damage))
    return usesOf(origin).map((use) => ({ session: name, use, about: '' }))
  }
  if (name !== undefined)
    return withStore(call, {}, async (store) => {
      const id = await sessionIn(store, name, call)
      const info = await valueOrUnreadable(describeSession(store, id))
      const uses = await usesIn(store, info, call, unread)
      const { forkedFrom } = info
      if (forkedFrom !== undefined && !unread.has(id)) {
        const shared = (await valueOrUnreadable(readUsage(store, info))).length - uses.length
        if (shared > 0) terminal.tell([`${id}: without ${countText(shared, 'call')} shared with ${forkedFrom.id}`])
      }
      const words = await about(store, info)
      return uses.map((use) => ({ session: id, use, about: words }))
    })
  return withScopes(call, async (scopes, all) => {
    const spent: CountedUse[] = []
    for (const store of scopes)
      for (const use of await useInStore(store, all ? `${store.scope}/` : '', call, unread, ids, about)) spent.push(use)
    return spent
  })
}

/** The calls of a session. If it can't be read without a key, its id is added to `unread`. */
const usesIn = async (
  store: Store,
  info: SessionInfo,
  { values, terminal }: Call,
  unread: Set<string>,
): Promise<readonly CallUse[]> => {
  const { id, encrypted, len } = info
  const uses = await readUsage(store, info, { own: true })()
  const last = encrypted && len > 0 ? await readRange(store, id, len - 1)() : uses // a fork may have its own messages
  const lacks = (encrypted && keyFileOf(values, terminal) === undefined) || (isLeft(last) && last.left._tag === 'NoKey')
  if (!lacks && !(isLeft(uses) && uses.left._tag === 'NoKey')) return valueOrUnreadable(async () => uses)
  unread.add(id)
  return []
}

const useInStore = async (
  store: Store,
  before: string,
  call: Call,
  unread: Set<string>,
  ids: string[],
  about: typeof aboutOf,
): Promise<readonly CountedUse[]> => {
  const sessions = await sessionsIn(store)
  for (const { id } of sessions) ids.push(before + id)
  const bar = call.terminal.progress('adding up', sessions.length, 'sessions')
  const spent: CountedUse[] = []
  for (const [index, info] of sessions.entries()) {
    const uses = await usesIn(store, info, call, unread)
    const words = uses.length === 0 ? '' : await about(store, info)
    for (const use of uses) spent.push({ session: before + info.id, use, about: words })
    bar.at(index + 1)
  }
  bar.end()
  return spent
}

/** Summed-up calls. */
interface Sum extends Required<Usage> {
  readonly calls: number
  readonly failed: number
  /** The cost of the calls whose model has a known price. */
  readonly dollars: number
  /** The number of calls whose answers hold more tokens than were counted. */
  readonly undercounted: number
  /** The number of calls with tokens but without a known price. */
  readonly unpriced: number
}

const emptySum: Sum = {
  calls: 0,
  failed: 0,
  input: 0,
  cacheRead: 0,
  cacheWrite: 0,
  cacheWriteHour: 0,
  output: 0,
  undercounted: 0,
  dollars: 0,
  unpriced: 0,
}

const sumOf = ({ model, calls, long, failed, usage, undercounted = 0 }: CallUse): Sum => {
  const dollars = usage === undefined ? 0 : usageDollars(model, usage, long === true ? 1 : calls)
  const unpriced = dollars === undefined ? Math.max(1, calls) : 0
  return { ...emptySum, ...usage, calls, failed, undercounted, dollars: dollars ?? 0, unpriced }
}

const addSums = (a: Sum, b: Sum): Sum =>
  Object.fromEntries(Object.entries(a).map(([name, value]) => [name, value + b[name as keyof Sum]])) as unknown as Sum

interface Row {
  readonly keys: readonly string[]
  readonly sum: Sum
  readonly about: string
}

const tableOf = (spent: readonly CountedUse[], by: readonly Field[]): readonly Row[] => {
  const rows = new Map<string, Row>()
  for (const { session, use, about } of spent) {
    const keys = by.map((field) => (field === 'session' ? session : (use[field] ?? '')))
    const key = keys.join('\n')
    rows.set(key, { keys, about, sum: addSums(rows.get(key)?.sum ?? emptySum, sumOf(use)) })
  }
  return by[0] === 'day'
    ? [...rows].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
    : [...rows.values()].toSorted((a, b) => b.sum.dollars - a.sum.dollars || b.sum.input - a.sum.input)
}

const rowKey = (by: readonly Field[], keys: readonly string[]): { readonly [field: string]: string | null } =>
  Object.fromEntries(by.map((field, index) => [field, keys[index] || null]))

/** The minimum width of a truncated name, in columns. */
const fewest = 14

const tableLines = (
  rows: readonly Row[],
  by: readonly Field[],
  shortOf: (id: string) => string,
  { columns, paint, tell }: Terminal,
): readonly string[] => {
  const total = rows.reduce<Sum>((sum, row) => addSums(sum, row.sum), emptySum)
  const cells = [
    [...by, 'calls', 'input', 'cached', 'output', 'dollars'],
    ...rows.map(({ keys, sum }) => [
      ...keys.map((key, at) => (by[at] === 'session' ? shortOf(key) : oneLine(key)) || '(unknown)'),
      ...figures(sum),
    ]),
    ...(rows.length > 1 ? [[...by.map((_, index) => (index === 0 ? 'all' : '')), ...figures(total)]] : []),
  ]
  const widths = cells[0]?.map((_, column) => widestOf(cells.map((row) => row[column] ?? ''))) ?? []
  const spaceBeside = (): number => columns - widths.slice(by.length).reduce((sum, width) => sum + width + 2, 0)
  // On a narrow terminal, cost comes first, then tokens.
  const least = widths.slice(0, by.length).reduce((sum, width) => sum + Math.min(width, fewest) + 2, -2)
  const missing: string[] = []
  for (const name of ['cached', 'calls', 'output', 'input'])
    if (spaceBeside() < least) {
      const column = (cells[0] ?? []).indexOf(name, by.length)
      for (const row of [widths, ...cells]) row.splice(column, 1)
      missing.push(name)
    }
  if (missing.length > 0)
    tell([`no room at ${columns} columns for: ${missing.join(', ')}; a wider terminal or --json has them`])
  // Narrow columns get their full width, the others share the rest. Short ids come first, so that they stay whole.
  const shown = [...widths]
  let space = spaceBeside() + 2
  const order = Array.from({ length: by.length }, (_, column) => column).toSorted(
    (x, y) => Number(by[y] === 'session') - Number(by[x] === 'session') || (widths[x] ?? 0) - (widths[y] ?? 0),
  )
  for (const [index, column] of order.entries()) {
    const rest = order.slice(index + 1).reduce((sum, other) => sum + Math.min(widths[other] ?? 0, fewest) + 2, 0)
    const share = by[column] === 'session' ? space - rest - 2 : Math.floor(space / (order.length - index)) - 2
    shown[column] = Math.max(8, Math.min(widths[column] ?? 0, share))
    space -= (shown[column] ?? 0) + 2
  }
  // On a narrow terminal the description gets its own line, as in a list.
  const width = shown.reduce((sum, one) => sum + one + 2, 0)
  const isBeside = rows.some(({ about }) => about !== '') && columns - width >= 20
  return cells.flatMap((row, index) => {
    const line = row
      .map((cell, column) =>
        column < by.length
          ? padEnd(fitMiddle(cell, shown[column] ?? 0), shown[column] ?? 0)
          : padStart(cell, shown[column] ?? 0),
      )
      .join('  ')
      .trimEnd()
    if (index === 0) return [paint('dim', fitColumns(isBeside ? `${line}  about` : line, columns))]
    const about = rows[index - 1]?.about ?? ''
    if (isBeside || about === '') return [fitColumns(`${line}  ${about}`.trimEnd(), columns)]
    return [fitColumns(line, columns), fitColumns(`  ${about}`, columns)]
  })
}

/** Whether no price is known. */
const isPriceless = ({ dollars, unpriced }: Pick<Sum, 'dollars' | 'unpriced'>): boolean => unpriced > 0 && dollars === 0

const figures = ({ calls, input, cacheRead, output, dollars, unpriced, undercounted }: Sum): readonly string[] => [
  calls === 0 ? '?' : groupedNumber(calls),
  groupedNumber(input),
  input === 0 ? '' : `${((cacheRead / input) * 100).toFixed(1)} %`,
  `${groupedNumber(output)}${undercounted > 0 ? ' + ?' : ''}`,
  isPriceless({ dollars, unpriced }) ? '?' : `${dollarsText(dollars)}${unpriced + undercounted > 0 ? ' + ?' : ''}`,
]

const warnOfMissing = (spent: readonly CountedUse[], terminal: Terminal): void => {
  const silent = spent.reduce((sum, { use }) => sum + (use.usage === undefined ? use.calls : 0), 0)
  const failed = spent.reduce((sum, { use }) => sum + use.failed, 0)
  const undercounted = spent.reduce((sum, { use }) => sum + (use.undercounted ?? 0), 0)
  const unknown = new Set(
    spent.flatMap(({ use: { model, usage } }) =>
      usage !== undefined && usageDollars(model, usage) === undefined ? [model ?? '(unknown)'] : [],
    ),
  )
  terminal.tell([
    ...(failed > 0 ? [`${countText(failed, 'call')} failed`] : []),
    ...(silent > 0 ? [`${countText(silent, 'call')} without token counts`] : []),
    ...(undercounted > 0
      ? [`${countText(undercounted, 'answer')} may have more tokens than were counted: output and dollars are at least those shown`]
      : []), // oxfmt-ignore
    ...(unknown.size > 0
      ? [
          `this version has no list price of ${oneLine([...unknown].join(', '))} (its prices: modelPrices in indelible/context); for the cost at your own prices, --json prints the tokens`,
        ]
      : []),
  ])
}
