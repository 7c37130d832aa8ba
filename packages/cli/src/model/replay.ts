/** `indelible replay FILE`, or a session: what each policy would have sent for each answer of a recording. */
import { modelPrices, pricesOf, type ModelPrices } from 'indelible/context'
import { policies, type ComparedPolicy } from '../compare/policies.ts'
import { Misuse, type Command } from '../terminal/command.ts'
import { namedConversation } from '../sources/conversation.ts'
import { fileOrSession, oneFile } from '../sources/input.ts'
import { storeOption } from '../sources/place.ts'
import type { PricedReplay } from './replay-job.ts'
import { replaysOf } from './replay-pool.ts'
import { dollarsText } from '../view/money.ts'
import { countText, fitColumns, groupedNumber, padEnd, padStart } from '../terminal/screen.ts'

export const replay: Command = {
  name: 'replay',
  synopsis: 'replay FILE|SESSION',
  purpose: 'measure context policies on a conversation',
  usage: ['replay [options] FILE', 'replay [options] SESSION'],
  about: `Derives a context before each answer in a recorded conversation, with
each policy and budget, as if it called the model. For each it prints the tokens
sent, the share of them that is a cached prefix, the cost in uncached input
tokens (cached 0.1, others 1.25; if the recording has times, the cache expires
five minutes after the last call), the time to derive one context, the epochs
(how often the sent part changed), the faults, and the rereads: repeated tool
calls whose earlier result was no longer readable.

Policies: paged (compacts in epochs) and window (the latest messages). FILE or
SESSION means the same as for "indelible show".`,
  options: {
    budget: { value: 'N,N', help: 'tokens for the messages; 16k is 16,000 (default 16k,32k,64k)' },
    policy: { value: 'P,P', help: 'policies, or all (default all)' },
    pick: { value: 'N', help: 'which conversation, if the file has several (default 0)' },
    model: {
      value: 'M',
      help: 'also print US dollars at the list prices of a model, and use them for the cost (claude-opus-5, gpt-5.5, gemini-3.1-pro …)',
    },
    json: { help: 'one JSON object per line, for programs' },
    ...storeOption,
  },
  examples: ['indelible replay session.jsonl --budget 32k --policy paged,window'],
  run: async (call) => {
    const { values, positionals, terminal } = call
    const path = oneFile('replay', positionals, fileOrSession)
    const budgets = (typeof values['budget'] === 'string' ? values['budget'] : '16k,32k,64k').split(',').map(tokensOf)
    const chosen = policiesOf(typeof values['policy'] === 'string' ? values['policy'] : 'all')
    const model = typeof values['model'] === 'string' ? { model: modelOf(values['model']) } : {}
    const { view, title } = await namedConversation(path, call)
    const jobs = budgets.flatMap((budget) => chosen.map(({ name }) => ({ policy: name, budget, ...model })))
    const bar = terminal.progress(`replaying ${countText(jobs.length, 'time')}`, jobs.length * view.length, 'messages')
    const replays = replaysOf(view, jobs, bar.at)
    if (values['json'] !== true) {
      await terminal.print([title, ''])
      if (model.model !== undefined) await terminal.print([priceLine(String(values['model']), model.model), ''])
    }
    let [done, fits]: [PricedReplay[], boolean] = [[], true]
    for await (const replay of replays) {
      bar.pause()
      if (replay.epochs > 0 || replay.unfit > 0) fits = false
      if (values['json'] === true) {
        await terminal.printJson([replay])
        continue
      }
      done.push(replay)
      if (done.length < chosen.length) continue
      await terminal.print([
        ...(replay.budget === budgets[0] ? [] : ['']),
        `budget ${groupedNumber(replay.budget)} tokens, ${countText(replay.calls, 'call')}`,
        ...table(done, terminal.columns),
      ])
      done = []
    }
    bar.end()
    if (fits && values['json'] !== true)
      terminal.tell([
        'no budget was reached, so all policies send the whole conversation; compare them with smaller budgets (--budget)',
      ])
  },
}

/** A number of tokens: `32000`, `32k`, `1m`. Throws Misuse. */
export const tokensOf = (given: string): number => {
  const found = /^(\d{1,12})([km]?)$/i.exec(given)
  if (found === null) throw new Misuse(`--budget: "${given}" is not a number of tokens; expected one like 32000 or 32k`)
  return Number(found[1]) * (found[2] === '' ? 1 : found[2]?.toLowerCase() === 'k' ? 1000 : 1_000_000)
}

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

const policiesOf = (given: string): readonly ComparedPolicy[] =>
  given === 'all' ? policies : given.split(',').map((name) => policyOf(name, policies))

/** The policy with a name. Throws Misuse. */
export const policyOf = <P extends { readonly name: string }>(name: string, among: readonly P[]): P => {
  const found = among.find((policy) => policy.name === name)
  if (found === undefined)
    throw new Misuse(
      `--policy: there is no policy "${name}"; expected ${among.map((policy) => policy.name).join(', ')}`,
    )
  return found
}

/** The columns, in order of priority on a narrow terminal. */
const columns: readonly (readonly [
  heading: string,
  cell: (replay: PricedReplay, all: readonly PricedReplay[]) => string,
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

function* table(replays: readonly PricedReplay[], width: number): Generator<string> {
  const cells = columns
    .filter(([heading]) => heading !== 'dollars' || replays[0]?.dollars !== undefined)
    .map(([heading, cell]) => [heading].concat(replays.map((replay) => cell(replay, replays))))
  const widths = cells.map((column) => Math.max(...column.map(({ length }) => length)))
  let room = width
  const shown = widths.flatMap((own, index) => ((room -= own + 2) >= -2 ? [index] : []))
  for (let row = 0; row <= replays.length; row++)
    yield shown
      .map((index) => (index === 0 ? padEnd : padStart)(cells[index]?.[row] ?? '', widths[index] ?? 0))
      .join('  ')
      .trimEnd()
  const expired = replays[0]?.expired ?? 0
  if (expired > 0)
    yield fitColumns(
      `${countText(expired, 'call')} came more than five minutes after the previous one: their cache had expired`,
      width,
    )
  for (const { policy, faults, unfit, calls } of replays) {
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

const total = (faults: PricedReplay['faults']): number => Object.values(faults).reduce((sum, count) => sum + count, 0)

const time = (microseconds: number): string =>
  microseconds < 1000 ? `${microseconds.toFixed(0)} µs` : `${(microseconds / 1000).toFixed(1)} ms`

const share = (cost: number, of: number | undefined): string =>
  of === undefined || of === 0 ? '' : `${(cost / of).toFixed(2)}×`
