import { isLeft } from 'fp-ts/lib/Either.js'
import { coding, largeTurns, locomo, measure, sum, withWholeAnswers, type Measured, type Source } from './evidence.ts'
const [, , which = '../src/context/deriving/derive.ts', what = 'all', ...sets] = process.argv
const mod = (await import(new URL(which, import.meta.url).href)) as any
if (sets.length) {
  const plan = (await import(new URL('../src/context/deriving/plan.ts', import.meta.url).href)) as any
  for (const set of sets) {
    const [k, v] = set.split('=')
    if (k === 'whole')
      ((await import(new URL('../src/context/deriving/select.ts', import.meta.url).href)) as any).weights.whole =
        Number(v)
    else plan.shape[k as string] = Number(v)
  }
}
const contexts = {
  derive: (view: any, budget: number, previous: any) => {
    const d = mod.deriveContext(view, { budget, previous })
    return isLeft(d) ? undefined : (d as any).right
  },
}
const sessions = ['coding-agent.pi-session.jsonl', 'claude-code-opus-4-5.jsonl', 'codex-gpt-5-2.jsonl']
const giants = ['opencode-claude-opus-4-6.jsonl', 'opencode-gpt-5-2-codex.jsonl', 'gemini-cli-3-pro-preview.json']
const show = (name: string, m: Measured) =>
  console.log(
    `${name.padEnd(34)} cost ${(m.cost / 1000).toFixed(0).padStart(7)} read ${((100 * m.readable) / (m.pieces || 1)).toFixed(1).padStart(5)} +short ${((100 * (m.readable + m.short)) / (m.pieces || 1)).toFixed(1).padStart(5)} cache ${((100 * m.cached) / m.tokens).toFixed(1)} reread ${m.rereads} recency ${((100 * m.recency) / m.calls).toFixed(1)} ep ${m.epochs} unfit ${m.unfit} refused ${m.refused} over ${m.overBudget} lost ${m.lostTask}`,
  )
const rows = (title: string, sources: Source[], budgets: number[]) => {
  const all: Measured[] = []
  for (const s of sources) {
    const own: Measured[] = []
    for (const b of budgets) {
      const m = measure(contexts, b, s)
      own.push(m)
      all.push(m)
      if (what.includes('v')) show(`${s.name.slice(0, 20)} ${b}`, m)
    }
    show(s.name.slice(0, 30), sum(own))
  }
  if (sources.length > 1) show(`== ${title}`, sum(all))
}
const t = process.cpuUsage()
if (/s|all/.test(what)) rows('sessions', sessions.map(coding), [8_000, 16_000, 32_000, 64_000, 100_000])
if (/g|all/.test(what)) rows('giants', giants.map(coding), [8_000, 12_000, 16_000, 24_000, 32_000, 48_000])
if (/t|all/.test(what)) rows('large', [largeTurns()], [32_000])
if (/l|all/.test(what))
  for (const b of [8_000, 16_000]) {
    const m = sum(
      [0.9, 0.95, 1, 1.05, 1.1].flatMap((x) =>
        [26, 30, 41, 42, 43, 44].map(locomo).map((s) => measure(contexts, Math.round(b * x), s)),
      ),
    )
    show(`locomo ${b} $${((m.cost * 5) / 5 / 1e6).toFixed(2)}`, m)
  }
if (/o|all/.test(what))
  for (const b of [50_000, 32_000]) {
    const m = sum(
      sessions
        .map(coding)
        .map(withWholeAnswers)
        .map((s) => measure(contexts, b, s, { cached: 0.05, fresh: 1.25 })),
    )
    show(`opus-5-5 ${b} $${((m.cost * 4) / 1e6).toFixed(2)}`, m)
  }
console.log((process.cpuUsage(t).user / 1e6).toFixed(1) + ' s')
if (/p/.test(what)) rows('pi32', [coding(sessions[0] as string)], [32_000])
