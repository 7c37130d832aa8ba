/**
 * What contexts keep of what will be asked, and what they cost: by budget, on coding sessions, on sessions with giant results, on a
 * session with large turns, on talk (LoCoMo), and beside what frameworks and providers do. `evidence.ts` has the questions.
 *
 * `node retention.ts [sessions | giants | turns | talk | compaction]`; without a name all of them.
 */
import { isLeft } from 'fp-ts/lib/Either.js'
import { deriveContext, modelPrices } from 'indelible/context'
import { unitsOf } from '../src/prices/internal.ts'
import { window } from '../packages/view/src/calls/policies.ts'
import {
  coding,
  hasLocomo,
  hasTranscripts,
  largeTurns,
  locomo,
  measure,
  sum,
  withWholeAnswers,
  type Contexts,
  type Measured,
  type Source,
} from './evidence.ts'
import { machine } from './measure.ts'

const contexts: Contexts = {
  derive: (view, budget, previous) => {
    const derived = deriveContext(view, { budget, previous })
    return isLeft(derived) ? undefined : derived.right
  },
}
const windows: Contexts = {
  derive: (view, budget, previous) => {
    const derived = window.derive(view, { budget, previous })
    return isLeft(derived) ? undefined : derived.right
  },
}

const wanted = process.argv.slice(2)
const has = (name: string): boolean => wanted.length === 0 || wanted.includes(name)
const percent = (part: number, of: number): string => (of === 0 ? '' : `${((100 * part) / of).toFixed(1)} %`)

const head = (): void =>
  console.log(
    '| | cost, 1,000 tokens of input | readable | or short | cacheable | rereads | recency | compactions | unfit, refused, over |\n|---|---:|---:|---:|---:|---:|---:|---:|---|',
  )
const row = (name: string, all: Measured): void =>
  console.log(
    `| ${name} | ${(all.cost / 1000).toFixed(0)} | ${percent(all.readable, all.pieces)} | ${percent(all.readable + all.short, all.pieces)} | ${percent(all.cached, all.tokens)} | ${all.rereads} | ${percent(all.recency, all.calls)} | ${all.epochs} | ${all.unfit}, ${all.refused}, ${all.overBudget} |`,
  )

const table = (title: string, sources: readonly Source[], budgets: readonly number[]): void => {
  console.log(`### ${title}\n`)
  head()
  const all: Measured[] = []
  for (const source of sources) {
    const own = budgets.map((budget) => {
      const measured = measure(contexts, budget, source)
      row(`${source.name}, ${budget.toLocaleString('en')}`, measured)
      return measured
    })
    row(`**${source.name}**`, sum(own))
    all.push(...own)
  }
  if (sources.length > 1) row('**all**', sum(all))
  console.log()
}

console.log(`${machine()}\n`)
const sessions = ['coding-agent.pi-session.jsonl', 'claude-code-opus-4-5.jsonl', 'codex-gpt-5-2.jsonl']
const giants = ['opencode-claude-opus-4-6.jsonl', 'opencode-gpt-5-2-codex.jsonl', 'gemini-cli-3-pro-preview.json']
if (has('sessions') && hasTranscripts) {
  table('Coding sessions', sessions.map(coding), [8_000, 16_000, 32_000, 64_000, 100_000])
  const pi = coding(sessions[0] as string)
  console.log(
    `pi at 32,000: ${(measure(contexts, 32_000, pi).cost / measure(windows, 32_000, pi).cost).toFixed(3)} of a window's cost\n`,
  )
}
if (has('giants') && hasTranscripts)
  table('Giant results', giants.map(coding), [8_000, 12_000, 16_000, 24_000, 32_000, 48_000])
if (has('turns')) {
  const source = largeTurns()
  table('Large turns', [source], [32_000])
  console.log(
    `${(measure(contexts, 32_000, source).cost / measure(windows, 32_000, source).cost).toFixed(3)} of a window's cost\n`,
  )
}
if (has('talk') && hasLocomo) {
  console.log('### LoCoMo, the mean of five budgets around each, at the prices of claude-opus-4-5\n')
  head()
  const conversations = [26, 30, 41, 42, 43, 44].map(locomo)
  for (const budget of [8_000, 16_000]) {
    const all = sum(
      [0.9, 0.95, 1, 1.05, 1.1].flatMap((share) =>
        conversations.map((source) => measure(contexts, Math.round(budget * share), source)),
      ),
    )
    row(`${budget.toLocaleString('en')}, $${((all.cost * 5) / 5e6).toFixed(2)}`, all)
  }
  console.log()
}
if (has('compaction') && hasTranscripts) {
  console.log('### At the prices of claude-opus-5-5\n')
  head()
  const rates = modelPrices['claude-opus-5-5']
  if (rates === undefined) throw new Error('the table has no claude-opus-5-5')
  const sources = sessions.map(coding).map(withWholeAnswers)
  for (const budget of [50_000, 32_000]) {
    const all = sum(sources.map((source) => measure(contexts, budget, source, unitsOf(rates))))
    row(`${budget.toLocaleString('en')}, $${((all.cost * rates.input) / 1e6).toFixed(2)}`, all)
  }
}
