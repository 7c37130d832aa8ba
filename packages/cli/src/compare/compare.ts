/** `indelible context --compare`: what each policy would have sent for each answer of a recording. */
import { modelPrices, pricesOf, type ModelPrices } from 'indelible/context'
import { dollarsText, policies, type ComparedPolicy } from '@indelible/view/internal'
import { Misuse, policyOf, tokensOf, type Call } from '../terminal/command.ts'
import { namedConversation } from '../sources/conversation.ts'
import { conversationOfCall } from '../sources/input.ts'
import { costCounter, type CallCosts } from './costs.ts'
import { replay, type Replay } from './replay.ts'
import { countText, fitColumns, groupedNumber } from '../terminal/screen.ts'
import { alignRows, sumOfWidths, withRoom } from '../terminal/table.ts'

export const comparePolicies = async (call: Call): Promise<void> => {
  const { values, positionals, terminal } = call
  const name = conversationOfCall('context --compare', positionals)
  const budgets = (typeof values['budget'] === 'string' ? values['budget'] : '16k,32k,64k').split(',').map(tokensOf)
  const chosen = policiesOf(typeof values['policy'] === 'string' ? values['policy'] : 'all')
  const model = typeof values['model'] === 'string' ? modelOf(values['model']) : undefined
  const { view, title } = await namedConversation(name, call)
  const jobs = budgets.flatMap((budget) => chosen.map((policy) => ({ budget, policy })))
  const bar = terminal.progress('comparing policies', jobs.length * view.length, 'messages')
  if (values['json'] !== true) {
    await terminal.print([title, ''])
    if (model !== undefined) await terminal.print([priceLine(String(values['model']), model), ''])
  }
  let [done, fits]: [PricedResult[], boolean] = [[], true]
  for (const [index, { budget, policy }] of jobs.entries()) {
    const costs = costCounter(model)
    const onProgress = (messages: number): void => bar.at(index * view.length + messages)
    const measured = replay(view, { budget, policy, prices: costs.prices, onProgress, onAnswer: costs.add })
    const result: PricedResult = { ...measured, ...costs.sum() }
    bar.pause()
    if (result.epochs > 0 || result.unfit > 0) fits = false
    if (values['json'] === true) {
      await terminal.printJson([result])
      continue
    }
    done.push(result)
    if (done.length < chosen.length) continue
    await terminal.print([
      ...(result.budget === budgets[0] ? [] : ['']),
      `budget ${groupedNumber(result.budget)} tokens, ${countText(result.calls, 'call')}`,
      ...table(done, terminal.columns),
    ])
    done = []
  }
  bar.end()
  if (fits && values['json'] !== true)
    terminal.tell([
      'no budget was reached, so all policies send the whole conversation; compare them with smaller budgets (--budget)',
    ])
}

type PricedResult = Replay & CallCosts

const modelOf = (name: string): ModelPrices => {
  const found = pricesOf(name)
  if (found === undefined)
    throw new Misuse(
      `--model: the prices of "${name}" are unknown; expected one of ${Object.keys(modelPrices).join(', ')}`,
    )
  return found
}

const priceLine = (name: string, { input, output, cacheRead, cacheWrite, read, source }: ModelPrices): string =>
  `${name}: $${input} in, $${cacheRead} cached, $${cacheWrite} written, $${output} out per million tokens (${read}, ${source})`

const policiesOf = (list: string): readonly ComparedPolicy[] =>
  list === 'all' ? policies : list.split(',').map((name) => policyOf(name, policies))

/** The columns, in order of priority on a narrow terminal. */
const columns: readonly (readonly [
  heading: string,
  cell: (result: PricedResult, all: readonly PricedResult[]) => string,
])[] = [
  ['policy', ({ policy }) => policy],
  ['cacheable', ({ cacheable }) => `${(cacheable * 100).toFixed(1)} %`],
  ['cost', ({ cost }) => groupedNumber(Math.round(cost))],
  ['dollars', ({ dollars }) => (dollars === undefined ? '' : dollarsText(dollars.input + dollars.output))],
  ['faults', ({ faults }) => groupedNumber(total(faults))],
  ['tokens', ({ tokens }) => groupedNumber(tokens)],
  ['epochs', ({ epochs }) => groupedNumber(epochs)],
  ['rereads', ({ rereads, repeats }) => `${groupedNumber(rereads)} of ${groupedNumber(repeats)}`],
  ['median', ({ median }) => time(median)],
  ['p99', ({ p99 }) => time(p99)],
  ['of window', ({ cost }, all) => share(cost, all.find(({ policy }) => policy === 'window')?.cost)],
]

function* table(results: readonly PricedResult[], width: number): Generator<string> {
  const shown = columns.filter(([heading]) => heading !== 'dollars' || results[0]?.dollars !== undefined)
  const headings = shown.map(([heading]) => heading)
  const rows = [headings, ...results.map((result) => shown.map(([, cell]) => cell(result, results)))]
  const fitting = withRoom(rows, headings.toReversed(), (widths) => sumOfWidths(widths) - 2 <= width)
  yield* alignRows(fitting, (column) => column > 0)
  const expired = results[0]?.expired ?? 0
  if (expired > 0)
    yield fitColumns(
      `${countText(expired, 'call')} came more than five minutes after the previous one: their cache had expired`,
      width,
    )
  for (const { policy, faults, unfit, calls } of results) {
    const named = Object.entries(faults).filter(([, count]) => count > 0)
    if (named.length > 0)
      yield fitColumns(
        `${policy}: ${named.map(([name, count]) => `${name} ${groupedNumber(count)}`).join(', ')}`,
        width,
      )
    if (unfit > 0)
      yield fitColumns(
        `${policy}: the minimum does not fit for ${groupedNumber(unfit)} of ${countText(calls, 'call')}, which are not counted`,
        width,
      )
  }
}

const total = (faults: PricedResult['faults']): number => Object.values(faults).reduce((sum, count) => sum + count, 0)

const time = (microseconds: number): string =>
  microseconds < 1000 ? `${microseconds.toFixed(0)} µs` : `${(microseconds / 1000).toFixed(1)} ms`

const share = (cost: number, of: number | undefined): string =>
  of === undefined || of === 0 ? '' : `${(cost / of).toFixed(2)}×`
