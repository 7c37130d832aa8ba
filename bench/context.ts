/**
 * Derived contexts of a real coding session, by policy: what they cost, what a prompt cache holds of them, what is lost.
 * Beside them what LangChain and the AI SDK have for it. Then what a derive costs as the record grows.
 *
 * `node context.ts [small]`: `small` for a quick look at smaller sizes.
 */
import { isLeft } from 'fp-ts/lib/Either.js'
import { createHistory, settle, type Message, type View } from 'indelible'
import { deriveContext, estimateTokens, type DerivedContext } from 'indelible/context'
import { paged, window } from '../packages/view/src/calls/policies.ts'
import { replay } from '../packages/cli/src/compare/replay.ts'
import { defaultPrices } from '../src/prices/internal.ts'
import { aiSdk, langChain, type Peer } from './context-peers.ts'
import { machine } from './measure.ts'
import { session } from './messages.ts'

const small = process.argv.includes('small')
const budgets = small ? [16_000] : [16_000, 32_000, 64_000]
const recording = small ? session.slice(0, 300) : session
const view = createHistory<Message>({ from: recording }).view()

interface Row {
  readonly name: string
  readonly calls: number
  readonly tokens: number
  readonly cacheable: number
  readonly cost: number
  readonly median: number
  readonly p99: number
  readonly refused: number
  readonly overBudget: number
  readonly lost: number
  readonly rereads: string
}

const ofPolicy = (policy: Parameters<typeof replay>[1]['policy'], budget: number): Row => {
  const {
    policy: name,
    faults,
    rereads,
    repeats,
    ...figures
  } = replay(view, { budget, ...(policy !== undefined && { policy }) })
  return {
    ...figures,
    name,
    refused: faults.pairingViolated,
    overBudget: faults.overBudget,
    lost: faults.silentLoss,
    rereads: `${rereads} of ${repeats}`,
  }
}

const ofPeer = async ({ name, trim }: Peer, budget: number): Promise<Row> => {
  const times: number[] = []
  let [tokens, stable, refused, overBudget, lost] = [0, 0, 0, 0, 0]
  let previous: readonly Message[] = []
  for (const [position, { role }] of recording.entries()) {
    if (role !== 'assistant') continue
    const from = performance.now()
    const { messages: sent } = await trim(position, budget)
    times.push((performance.now() - from) * 1000)
    const total = sent.reduce((sum, message) => sum + estimateTokens(message), 0)
    let same = 0
    while (same < sent.length && JSON.stringify(sent[same]) === JSON.stringify(previous[same])) same += 1
    tokens += total
    stable += sent.slice(0, same).reduce((sum, message) => sum + estimateTokens(message), 0)
    if (isLeft(settle(sent))) refused += 1
    if (total > budget) overBudget += 1
    lost += position - sent.length
    previous = sent
  }
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0
  return {
    name,
    calls: times.length,
    tokens,
    cacheable: stable / tokens,
    cost: stable * defaultPrices.cached + (tokens - stable) * defaultPrices.fresh,
    median: at(0.5),
    p99: at(0.99),
    refused,
    overBudget,
    lost,
    rereads: '',
  }
}

const policies = [paged, window]

console.log(`${machine()}; a coding session of ${recording.length} messages\n`)
for (const budget of budgets) {
  console.log(`### ${budget.toLocaleString('en')} tokens\n`)
  console.log(
    '| | tokens sent | cacheable | cost | of window | median | p99 | refused | over budget | lost without a word | rereads |',
  )
  console.log('|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|')
  const rows = [
    ...policies.map((policy) => ofPolicy(policy, budget)),
    await ofPeer(langChain(recording), budget),
    await ofPeer(aiSdk(recording), budget),
  ]
  const base = rows.find(({ name }) => name === 'window')?.cost ?? NaN
  for (const { name, tokens, cacheable, cost, median, p99, refused, overBudget, lost, rereads } of rows)
    console.log(
      `| ${name} | ${tokens.toLocaleString('en')} | ${(cacheable * 100).toFixed(1)} % | ${Math.round(cost).toLocaleString('en')} | ${(cost / base).toFixed(2)}× | ${median.toFixed(0)} µs | ${(p99 / 1000).toFixed(1)} ms | ${refused} | ${overBudget} | ${lost.toLocaleString('en')} | ${rereads} |`,
    )
  console.log()
}

/** The session again and again: instructions that pile up would be another matter, they may not be dropped. */
const messageAt = (position: number): Message => session[position % session.length] as Message

interface Growth {
  readonly median: number
  /** Of the derives that compact, how many there are, their median and their 99th percentile. */
  readonly compacting: readonly [count: number, median: number, p99: number]
}

/** One derive after each of 3,000 appends to a record of a length, in microseconds: of each the best of three runs. */
const growing = (length: number): Growth => {
  const best: number[] = []
  const compacts = new Set<number>()
  for (let run = 0; run < 3; run++) {
    const history = createHistory<Message>({ from: Array.from({ length }, (_, position) => messageAt(position)) })
    let previous: DerivedContext | undefined
    const derive = (view: View<Message>): DerivedContext => {
      const derived = deriveContext(view, { budget: 32_000, previous })
      if (isLeft(derived)) throw new Error(derived.left._tag)
      return (previous = derived.right)
    }
    let { epoch } = derive(history.view())
    for (let index = 0; index < 3000; index++) {
      history.append(messageAt(length + index))
      const from = performance.now()
      const context = derive(history.view())
      best[index] = Math.min(best[index] ?? Infinity, (performance.now() - from) * 1000)
      if (context.epoch > epoch) compacts.add(index)
      epoch = context.epoch
    }
  }
  const at = (times: readonly number[], share: number): number =>
    times.toSorted((a, b) => a - b)[Math.floor((times.length - 1) * share)] ?? NaN
  const [own, others] = [true, false].map((compacting) => best.filter((_, index) => compacts.has(index) === compacting))
  return { median: at(others ?? [], 0.5), compacting: [compacts.size, at(own ?? [], 0.5), at(own ?? [], 0.99)] }
}

console.log('### One derive after an append, the best of three runs, at a length of\n')
console.log('| messages | median | compacting | median | p99 |\n|---|---:|---:|---:|---:|')
const lengths = small ? [1_000, 10_000] : [1_000, 10_000, 100_000]
growing(1_000) // warms up
for (const length of lengths) {
  const { median, compacting } = growing(length)
  const [count, usual, p99] = compacting
  console.log(
    `| ${length.toLocaleString('en')} | ${median.toFixed(1)} µs | ${count} | ${(usual / 1000).toFixed(1)} ms | ${(p99 / 1000).toFixed(1)} ms |`,
  )
}
