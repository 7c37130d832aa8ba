/** `indelible spend`: every token of the model calls that was paid, and why. */
import { isLeft } from 'indelible/internal/json'
import { describeSession, readRange, type SessionInfo } from 'indelible/session'
import { explainUsage, type ExplainedCall } from 'indelible/usage'
import { explainCalls } from 'indelible/internal/usage'
import type { Store } from 'indelible/store'
import { spentIn } from '@indelible/transcripts/internal'
import {
  atLeast,
  callClause,
  causeTexts,
  dollarsText,
  addStore,
  emptySum,
  isLoss,
  share,
  Spending,
  spendingAdvice,
  spendingSession,
  spendingFields,
  type SpendingField,
  type SpendingRow,
  type SpendingSum,
  type SpentCall,
} from '@indelible/view/internal'
import { Misuse, type Call, type Command, type Terminal } from '../terminal/command.ts'
import { isFile, sessionIn, storedConversation } from '../sources/conversation.ts'
import { keyFileOf } from '../sources/store.ts'
import { nameOf, pickOf, readTranscriptFile } from '../sources/input.ts'
import { allScopesOption, valueOrUnreadable, storeOption, withScopes, withStore } from '../sources/place.ts'
import { leftOutLines } from '../terminal/report.ts'
import type { Progress } from '../terminal/progress.ts'
import { countText, fitColumns, fitMiddle, groupedNumber, oneLine, wrapHanging } from '../terminal/screen.ts'
import { alignRows, columnWidths, sumOfWidths, withRoom } from '../terminal/table.ts'
import { keyAdvice, sessionNames } from './search.ts'
import { aboutOf } from './list.ts'
import { contentCosts } from './content-costs.ts'
import { shortIds } from '../sources/short-ids.ts'

export const spend: Command = {
  name: 'spend',
  synopsis: 'spend [SESSION|FILE]',
  purpose: 'print what model calls cost, by cause: read again, new, sent again and why',
  usage: ['spend [options]', 'spend [options] SESSION', 'spend [options] FILE'],
  about: `Accounts for every token of the model calls of all sessions of a store, of
one session, or of a file. Tokens of a request were read again from the
provider's cache, are new, or were sent again: they were in the call before and
were paid once more. "sent again" has its cause, and how it is known:

  expired    the request came later than the provider keeps the cache
  tools, system, messages, effort changed; another model
  compaction, rewind, shortened
  lost by the provider: nothing changed, and it was in time (recordings, and
             files with hashes of requests)
  unknown    with the causes that are ruled out

The figures are the provider's: from the receipts of runs and "indelible
record", and from imported files. Nothing is estimated, except the shares of
messages with --by content. Costs are at the list prices of modelPrices in indelible/context,
a table in this version; a model that is not in it has the cost ?, or null with --json.
They are not a bill: a subscription may pay for the calls. Calls without figures
are counted and add nothing. The days are those of the calls (UTC; if a file
contains only totals, its own). A fork counts only its own calls, not those that it shares with its original.

Receipts are read as they are stored: "indelible verify" finds altered ones.
"indelible show SESSION --calls" lists the calls of a session, "--call dearest" prints the one that cost most.`,
  options: {
    by: {
      value: 'WHAT',
      help: `${spendingFields.join(', ')}, or several with commas; or content, for what each message of one conversation cost`,
    },
    pick: { value: 'N', help: 'which conversation, if FILE has several (default 0)' },
    json: { help: 'one JSON object for each line, for programs' },
    ...storeOption,
    ...allScopesOption,
  },
  examples: ['indelible spend', 'indelible spend --by day,model', 'indelible spend session.jsonl --by content'],
  run: async (call) => {
    const { values, positionals, terminal } = call
    const [name, ...others] = positionals
    if (others.length > 0) throw new Misuse(`spend takes one SESSION or FILE, but got ${positionals.length}`)
    pickOf(values)
    if (values['by'] === 'content') return printContent(name, call)
    const by = fieldsOf(values['by'])
    const isAccount = values['by'] === undefined
    const needsAbout = by.includes('session') && values['json'] !== true
    const found = await spendingOf(name, call, { needsDearest: isAccount && values['json'] !== true, needsAbout })
    const { spending, unread, ids, left } = found
    const isEmpty = spending.total.calls + spending.total.failed === 0
    if (values['json'] === true) await terminal.printJson(spending.rows(by).map((row) => rowJson(by, row)))
    else if (!isEmpty && isAccount) await terminal.print(accountLines(found, name, terminal))
    else if (!isEmpty)
      await terminal.print(tableLines(spending.rows(by), by, shortIds(ids, terminal), found.abouts, terminal))
    else if (name === undefined)
      terminal.tell([`no session${unread.size === 0 ? '' : ' that could be read'} has token counts of its calls`])
    else if (unread.size === 0) terminal.tell([`${name}: has no token counts of its calls`])
    terminal.tell(left)
    if (values['json'] === true || isEmpty) return
    warnOfMissing(spending, terminal)
  },
}

const fieldsOf = (value: unknown): readonly SpendingField[] =>
  (typeof value === 'string' ? value.split(',') : ['cause']).map((name) => {
    const found = spendingFields.find((field) => field === name)
    if (found === undefined)
      throw new Misuse(
        name === 'content'
          ? '--by content stands alone: it is of one conversation'
          : `--by takes ${spendingFields.join(', ')}, content, not "${name}"`,
      )
    return found
  })

/** What was found in a store, a session or a file. */
interface Found {
  readonly spending: Spending
  /** The calls that cost most, if they are needed. */
  readonly dearest: readonly SpentCall[]
  /** The encrypted sessions that could not be read. */
  readonly unread: ReadonlySet<string>
  /** The names of all inspected sessions. */
  readonly ids: readonly string[]
  /** Notices about what was left out. */
  readonly left: readonly string[]
  /** What a list says of each session, where sessions are shown. */
  readonly abouts: ReadonlyMap<string, string>
}

interface Needs {
  readonly needsDearest: boolean
  readonly needsAbout: boolean
}

const spendingOf = async (name: string | undefined, call: Call, needs: Needs): Promise<Found> => {
  const { values, terminal } = call
  const spending = new Spending()
  const unread = new Set<string>()
  const ids: string[] = []
  const abouts = new Map<string, string>()
  let dearest: readonly SpentCall[] = []
  const findDearest = async (): Promise<void> => {
    if (needs.needsDearest) dearest = await spending.dearest()
  }
  if (name !== undefined && isFile(name, call)) {
    const transcript = await readTranscriptFile(name, { pick: pickOf(values) }, terminal)
    terminal.tellDamage(leftOutLines(nameOf(name), transcript.damage))
    const { format, origin } = transcript
    const metadata = { from: { format, metadata: origin.metadata } }
    spending.add(spendingSession(name, { metadata }), explainCalls(spentIn(transcript)))
    await findDearest()
  } else if (name !== undefined)
    await withStore(call, {}, async (store) => {
      const id = await sessionIn(store, name, call)
      const info = await valueOrUnreadable(describeSession(store, id))
      const { forkedFrom } = info
      const calls = await callsOf(store, info, call, unread)
      ids.push(id)
      if (needs.needsAbout && calls.length > 0) abouts.set(id, await aboutOf(store, info))
      spending.add(spendingSession(id, info), calls)
      const shared = calls.filter(({ isShared }) => isShared === true).length
      if (shared > 0) terminal.tell([`${id}: without ${countText(shared, 'call')} shared with ${forkedFrom?.id}`])
      await findDearest()
    })
  else
    await withScopes(call, {}, async (scopes, all) => {
      for (const store of scopes) {
        let bar: Progress | undefined
        const added = await addStore(spending, store, {
          name: (id) => (all ? `${store.scope}/${id}` : id),
          progress: (done, of) => (bar ??= terminal.progress('adding up', of, 'sessions')).at(done),
        })
        bar?.end()
        for (const id of added.unread) unread.add(id)
        for (const id of added.sessions.keys()) ids.push(id)
        if (needs.needsAbout)
          for (const { keys } of spending.rows(['session'])) {
            const info = added.sessions.get(keys[0] ?? '')
            if (info !== undefined) abouts.set(keys[0] ?? '', await aboutOf(store, info))
          }
      }
      await findDearest()
    })
  const left =
    unread.size === 0
      ? []
      : [
          `${countText(unread.size, 'encrypted session')} ${unread.size === 1 ? 'was' : 'were'} not read: ${sessionNames(unread)}; ${keyAdvice(call, unread.size)}`,
        ]
  return { spending, dearest, unread, ids, left, abouts }
}

/** The calls of a session. If it can't be read without a key, its id is added to `unread`. */
const callsOf = async (
  store: Store,
  info: SessionInfo,
  { values, terminal }: Call,
  unread: Set<string>,
): Promise<readonly ExplainedCall[]> => {
  const { id, encrypted, len } = info
  const usage = await explainUsage(store, info)()
  const last = encrypted && len > 0 ? await readRange(store, id, len - 1)() : usage // a fork may have its own messages
  const lacks = (encrypted && keyFileOf(values, terminal) === undefined) || (isLeft(last) && last.left._tag === 'NoKey')
  if (!lacks && !(isLeft(usage) && usage.left._tag === 'NoKey'))
    return (await valueOrUnreadable(async () => usage)).explained
  unread.add(id)
  return []
}

const rowJson = (by: readonly SpendingField[], { keys, sum }: SpendingRow): object => ({
  ...Object.fromEntries(by.map((field, index) => [field, keys[index] || null])),
  ...sum,
  dollars: isPriceless(sum) ? null : sum.dollars,
})

/** The account: the sum, a line for each cause, and the calls that cost most. */
function* accountLines(
  { spending, dearest, ids }: Found,
  name: string | undefined,
  { columns, paint }: Terminal,
): Generator<string> {
  const { total, causes, lost } = spending
  const title = name === undefined ? `spend, ${countText(ids.length, 'session')}` : `spend ${oneLine(nameOf(name))}`
  const cost = `${costOf(total)}, ${countText(total.calls, 'call')}`
  const isPriced = total.dollars > 0
  const rows = grouped(causes)
  const lines = alignRows(
    rows.map(([text, sum]) => [
      text,
      isPriced ? dollarsText(sum.dollars) : '?',
      isPriced ? share(sum.dollars, total.dollars) : share(sum.input + sum.output, total.input + total.output),
      groupedNumber(sum.input + sum.output),
    ]),
    (column) => column > 0,
  )
  yield fitColumns(paint('bold', `${title}  ${cost}`), Math.max(columns, 20))
  for (const [index, [, { calls }, isLost]] of rows.entries()) {
    const beside = index === 0 ? ' tokens' : isLost ? ` in ${countText(calls, 'call')}` : ''
    yield fitColumns(` ${lines[index]}${beside}`, columns)
  }
  for (const line of spendingAdvice(spending)) yield* wrapHanging(line, columns, 2)
  const shown =
    name === undefined ? dearest : dearest.filter(({ call }) => call.parts.some(({ cause }) => isLoss(cause)))
  if (shown.length > 0) yield ''
  for (const spent of shown.slice(0, name === undefined ? shown.length : mostCalls))
    yield* wrapHanging(callText(spent, name === undefined), columns, 2)
  if (isPriced && total.input > 0 && lost.dollars > 0 && name === undefined)
    yield* wrapHanging(
      `sent again in all: ${dollarsText(lost.dollars)}, ${share(lost.dollars, total.dollars)} of the cost`,
      columns,
      2,
    )
  yield* wrapHanging('At list prices. Not a bill: a subscription may pay for the calls.', columns, 2)
}

/** The most calls that the account of one session names. */
const mostCalls = 5

const callText = ({ session, call }: SpentCall, isNamed: boolean): string =>
  `${isNamed ? `${oneLine(session)} ` : ''}call ${groupedNumber(call.number)}, ${atLeast(call.isUndercounted === true)}${dollarsText(call.dollars ?? 0)}: ${callClause(call)}`

/** The beginnings of conversations and the ends of blocks are one line. */
const grouped = (
  causes: Spending['causes'],
): readonly (readonly [text: string, sum: SpendingSum, isLost: boolean])[] => {
  const small = new Set(['first', 'agent', 'ends'])
  const rows: [string, SpendingSum, boolean][] = []
  let beginnings: SpendingSum | undefined
  for (const [cause, sum] of causes)
    if (!small.has(cause)) rows.push([causeTexts[cause], sum, isLoss(cause)])
    else if (beginnings === undefined) rows.push(['first, block ends', (beginnings = { ...sum }), false])
    else {
      beginnings.input += sum.input
      beginnings.dollars += sum.dollars
    }
  return rows.toSorted(([, a], [, b]) => b.dollars - a.dollars || b.input + b.output - a.input - a.output)
}

/** `$1.65`, `at least $1.65`, `? (no list price)`. */
const costOf = (sum: SpendingSum): string =>
  isPriceless(sum) ? 'cost not known' : `${atLeast(sum.unpriced + sum.undercounted > 0)}${dollarsText(sum.dollars)}`

/** What each message of a conversation cost: when it was sent first, and each time it was read or sent again. */
const printContent = async (name: string | undefined, call: Call): Promise<void> => {
  const { values, terminal } = call
  const isOfFile = name !== undefined && isFile(name, call)
  const { messages, calls, title } = isOfFile ? await fileContent(name, call) : await sessionContent(name, call)
  const { costs, isGrowing } = contentCosts(messages, calls)
  if (costs.length === 0) return terminal.tell([`${title}: has no token counts of its calls that belong to messages`])
  if (values['json'] === true) return terminal.printJson(costs)
  const rows = costs
    .slice(0, mostMessages)
    .map(({ text, tokens, calls: times, dollars, position }) => [
      dollars === undefined ? '?' : dollarsText(dollars),
      `≈ ${groupedNumber(tokens)} × ${groupedNumber(times)}`,
      `${position === null ? '' : `message ${position}: `}${oneLine(text)}`,
    ])
  const rest = costs.slice(mostMessages)
  await terminal.print([
    `${title}: what each message cost, as input of all calls${isGrowing ? '' : ' (about: the conversation was shortened)'}`,
    ...alignRows(rows, (column) => column < 2).map((line) => fitColumns(` ${line}`, terminal.columns)),
    ...(rest.length === 0
      ? []
      : [
          ` ${dollarsText(rest.reduce((sum, { dollars = 0 }) => sum + dollars, 0))}  ${countText(rest.length, 'other message')} (--json)`,
        ]),
  ])
}

/** The most messages that `--by content` prints. */
const mostMessages = 20

const fileContent = async (name: string, call: Call) => {
  const transcript = await readTranscriptFile(name, { pick: pickOf(call.values) }, call.terminal)
  call.terminal.tellDamage(leftOutLines(nameOf(name), transcript.damage))
  return { messages: transcript.messages, calls: explainCalls(spentIn(transcript)), title: nameOf(name) }
}

const sessionContent = (name: string | undefined, call: Call) =>
  withStore(call, {}, async (store) => {
    const id = await sessionIn(store, name, call)
    const { view } = await storedConversation(store, id, { ...call, values: { ...call.values, all: true } })
    const { explained } = await valueOrUnreadable(explainUsage(store, id))
    return { messages: Array.from(view), calls: explained, title: id }
  })

/** The minimum width of a truncated name, in columns. */
const fewest = 14

const tableLines = (
  rows: readonly SpendingRow[],
  by: readonly SpendingField[],
  shortOf: (id: string) => string,
  abouts: ReadonlyMap<string, string>,
  { columns, paint, tell }: Terminal,
): readonly string[] => {
  const total = emptySum()
  for (const { sum } of rows) for (const name of Object.keys(total) as (keyof SpendingSum)[]) total[name] += sum[name]
  const all = [
    [...by, 'calls', 'input', 'cached', 'output', 'dollars'],
    ...rows.map(({ keys, sum }) => [
      ...keys.map(
        (key, at) =>
          (by[at] === 'session'
            ? shortOf(key)
            : by[at] === 'cause'
              ? causeTexts[key as keyof typeof causeTexts]
              : oneLine(key)) || '(unknown)',
      ),
      ...figures(sum),
    ]),
    ...(rows.length > 1 ? [[...by.map((_, index) => (index === 0 ? 'all' : '')), ...figures(total)]] : []),
  ]
  // On a narrow terminal, cost comes first, then tokens.
  const leastOf = (width: number, column: number): number => (column < by.length ? Math.min(width, fewest) : width)
  const hasRoom = (widths: readonly number[]): boolean => sumOfWidths(widths.map(leastOf)) - 2 <= columns
  const optional = ['cached', 'calls', 'output', 'input']
  const cells = withRoom(all, optional, hasRoom)
  const missing = optional.filter((name) => cells[0]?.includes(name) !== true)
  if (missing.length > 0)
    tell([`no room at ${columns} columns for: ${missing.join(', ')}; a wider terminal or --json has them`])
  // Narrow columns get their full width, the others share the rest. Short ids come first, so that they stay whole.
  const widths = columnWidths(cells)
  const shown = [...widths]
  let space = columns - sumOfWidths(widths.slice(by.length)) + 2
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
  const session = by.indexOf('session')
  const aboutOfRow = (row: SpendingRow | undefined): string => abouts.get(row?.keys[session] ?? '') ?? ''
  const isBeside = abouts.size > 0 && columns - sumOfWidths(shown) >= 20
  const fitting = cells.map((row) =>
    row.map((cell, column) => (column < by.length ? fitMiddle(cell, shown[column] ?? 0) : cell)),
  )
  const lines = alignRows(fitting, (column) => column >= by.length, shown)
  return lines.flatMap((line, index) => {
    if (index === 0) return [paint('dim', fitColumns(isBeside ? `${line}  about` : line, columns))]
    const about = aboutOfRow(rows[index - 1])
    if (isBeside || about === '') return [fitColumns(`${line}  ${about}`.trimEnd(), columns)]
    return [fitColumns(line, columns), fitColumns(`  ${about}`, columns)]
  })
}

/** Whether no price is known. */
const isPriceless = ({ dollars, unpriced }: Pick<SpendingSum, 'dollars' | 'unpriced'>): boolean =>
  unpriced > 0 && dollars === 0

const figures = ({
  calls,
  input,
  cacheRead,
  output,
  dollars,
  unpriced,
  undercounted,
}: SpendingSum): readonly string[] => [
  calls === 0 ? '?' : groupedNumber(calls),
  groupedNumber(input),
  input === 0 ? '' : `${((cacheRead / input) * 100).toFixed(1)} %`,
  `${groupedNumber(output)}${undercounted > 0 ? ' + ?' : ''}`,
  isPriceless({ dollars, unpriced }) ? '?' : `${dollarsText(dollars)}${unpriced + undercounted > 0 ? ' + ?' : ''}`,
]

const warnOfMissing = (spending: Spending, terminal: Terminal): void => {
  const { failed, uncounted, undercounted } = spending.total
  const unknown = spending.unpricedModels.map((model) => model || '(unknown)')
  terminal.tell([
    ...(failed > 0 ? [`${countText(failed, 'call')} failed`] : []),
    ...(uncounted > 0 ? [`${countText(uncounted, 'call')} without token counts`] : []),
    ...(undercounted > 0
      ? [`${countText(undercounted, 'answer')} may have more tokens than were counted: output and dollars are at least those shown`]
      : []), // oxfmt-ignore
    ...(unknown.length > 0
      ? [
          `this version has no list price of ${oneLine(unknown.join(', '))} (its prices: modelPrices in indelible/context); for the cost at your own prices, --json prints the tokens`,
        ]
      : []),
  ])
}
