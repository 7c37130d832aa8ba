/**
 * What contexts keep of what will be asked. For conversations with known evidence: how many pieces of it are readable in
 * the context, how many more in short with the words of the answer (all that stand in the evidence and are no stop words),
 * and how many one recall finds with the question as its query; by policy, budget and money. Beside them LangChain's `trimMessages` and the AI SDK's `pruneMessages`.
 *
 * Two sources. Six conversations of LoCoMo (snap-research/locomo, without a licence file, so not in this repository): put
 * `26.json`, `30.json`, `41.json`, `42.json`, `43.json` and `44.json` of its `data/locomo10.zip` into `.cache/locomo`. The
 * questions are asked at the end. And coding sessions, where a later call uses a path or a name that a result was the
 * first to say: that result is the evidence, asked for at that call with what the model says beside it.
 *
 * `node retention.ts [small | budgets | talk | compaction]`: `small` for one budget; `budgets` for the coding sessions, and for three with
 * giant results, at eleven budgets each; `talk` for LoCoMo at the mean of five budgets around each, beside `window`;
 * `compaction` for the coding sessions beside summaries by LangChain and by providers, at today's prices.
 */
import { toolResultsOf } from 'indelible/message'
import { existsSync, readFileSync } from 'node:fs'
import { isLeft } from 'fp-ts/lib/Either.js'
import { createHistory, settle, textOf, toolCallsOf, type Message, type Part } from 'indelible'
import {
  deriveContext,
  estimateTokens,
  lexicalSearch,
  modelPrices,
  paged,
  replay,
  window,
  type DerivedContext,
  type ModelPrices,
  type Policy,
} from 'indelible/context'
import { unitsOf } from '../src/context/kit.ts'
import {
  aiSdk,
  anthropicCompaction,
  langChain,
  langChainSummary,
  openaiCompaction,
  type MakePeer,
} from './context-peers.ts'
import { machine } from './measure.ts'
import { readTranscript } from '@indelible/transcripts'

interface Piece {
  readonly query: string
  /** After so many messages. */
  readonly at: number
  /** Where it stands, and what of it must be readable. */
  readonly position: number
  readonly needle: string
  /** Words of the answer that stand there; none if it is said in other words. */
  readonly words: readonly string[]
}

interface Source {
  readonly name: string
  readonly messages: readonly Message[]
  readonly pieces: readonly Piece[]
}

/** `paged` with a low-water mark of a quarter of the budget. */
const thrifty: Policy = { ...paged({ lowWater: 0.25 }), name: 'thrifty' }

const small = process.argv.includes('small')
const budgets = small ? [8_000] : [8_000, 16_000]
const ratesOf = (model: string): ModelPrices => {
  const found = modelPrices[model]
  if (found === undefined) throw new Error(`the table has no ${model}`)
  return found
}
const opus = ratesOf('claude-opus-4-5')

/* What is asked. */

const wordsOf = (text: string): readonly string[] => [...new Set(text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? [])]

const tellsNothing: ReadonlySet<string> = new Set(
  'the and for with was were are his her their she him they that this has have had from not but you your about into out what when who how which been being some its all can did does'.split(
    ' ',
  ),
)

const locomo = (id: number): Source => {
  const file = JSON.parse(readFileSync(new URL(`.cache/locomo/${id}.json`, import.meta.url), 'utf8')) as Record<
    string,
    unknown
  >
  const at = new Map<string, number>()
  const messages: Message[] = []
  for (let session = 1; Array.isArray(file[`session_${session}`]); session++)
    for (const turn of file[`session_${session}`] as readonly Record<string, string>[]) {
      at.set(turn['dia_id'] ?? '', messages.length)
      const shown = turn['blip_caption'] === undefined ? '' : ` [shares ${turn['blip_caption']}]`
      messages.push({
        role: turn['speaker'] === file['speaker_a'] ? 'user' : 'assistant',
        content: [
          {
            type: 'text',
            text: `(${String(file[`session_${session}_date_time`])}) ${turn['speaker']}: ${turn['text']}${shown}`,
          },
        ],
      })
    }
  const questions = file['qa'] as readonly {
    question: string
    answer?: unknown
    adversarial_answer?: unknown
    evidence: readonly string[]
  }[]
  const pieces = questions.flatMap(({ question, answer, adversarial_answer: other, evidence }) =>
    evidence
      .flatMap((said) => said.match(/D\d+:\d+/g) ?? [])
      .flatMap((named) => at.get(named) ?? [])
      .map((position): Piece => {
        const needle = textOf(messages[position] as Message)
        const there = new Set(wordsOf(needle))
        const words = wordsOf(String(answer ?? other ?? '')).filter(
          (word) => there.has(word) && !tellsNothing.has(word),
        )
        return { query: question, at: messages.length, position, needle, words }
      }),
  )
  return { name: `LoCoMo ${id}`, messages, pieces }
}

/** What a call can repeat of a result: a path, or a name that no sentence has. */
const name = /(?:[\w@.~-]*\/)+[\w@.~-]+|\b\w+(?:[_.]\w+)+\b|\b[a-z]+(?:[A-Z][a-z0-9]+)+\b/g

/** Names that a result was the first to say and that a call uses at least ten messages later, for the first time. */
const coding = (file: string): Source => {
  const transcript = readTranscript(readFileSync(new URL(`${shared}${file}`, import.meta.url)))
  if (isLeft(transcript)) throw new Error(file)
  const { messages } = transcript.right
  const said = new Map<string, number | undefined>()
  const pieces: Piece[] = []
  let asked = ''
  for (const [position, message] of messages.entries()) {
    if (message.role === 'user') asked = textOf(message) || asked
    for (const needle of textOf(message).match(name) ?? []) if (!said.has(needle)) said.set(needle, undefined)
    const used = new Map<number, string>()
    for (const call of toolCallsOf(message))
      for (const needle of call.arguments.match(name) ?? []) {
        const first = said.get(needle)
        if (first !== undefined && position - first >= 10 && needle.length >= 8) used.set(first, needle)
        said.set(needle, undefined)
      }
    for (const [first, needle] of used)
      pieces.push({ query: textOf(message) || asked, at: position, position: first, needle, words: [needle] })
    for (const result of toolResultsOf(message))
      for (const needle of new Set(result.content.map(plain).join('\n').match(name) ?? []))
        if (!said.has(needle)) said.set(needle, position)
  }
  return { name: file, messages, pieces }
}

/**
 * The source as an application would hold it: each answer is one message (some programs record one as several, and no call
 * begins between them), and no call is without a result.
 */
const withWholeAnswers = ({ name, messages, pieces }: Source): Source => {
  const answered = new Set(messages.flatMap(toolResultsOf).map(({ callId }) => callId))
  const whole: Message[] = []
  const places = messages.map((recorded) => {
    const content = recorded.content.filter((part) => part.type !== 'tool_call' || answered.has(part.id))
    const message = { ...recorded, content }
    const last = whole.at(-1)
    if (last?.role === 'assistant' && message.role === 'assistant')
      whole[whole.length - 1] = { ...last, content: [...last.content, ...message.content] }
    else whole.push(message)
    return whole.length - 1
  })
  const place = (position: number): number => places[position] ?? whole.length
  return {
    name,
    messages: whole,
    pieces: pieces.map((piece) => ({ ...piece, at: place(piece.at), position: place(piece.position) })),
  }
}

/* What is kept. */

const plain = (part: Part): string =>
  part.type === 'text' || part.type === 'reasoning' || part.type === 'refusal'
    ? part.text
    : part.type === 'tool_call'
      ? `${part.name} ${part.arguments}`
      : part.type === 'tool_result'
        ? part.content.map(plain).join('\n')
        : ''

const saidIn = (message: Message): string => message.content.map(plain).join('\n')

interface KeptCounts {
  pieces: number
  readable: number
  /** Of these, those that stand as the recorded message and not in a marker. */
  own: number
  /** Not readable, but what stands for it has the words of the answer. */
  short: number
  pointed: number
  dollars: number
  /** The tokens that were sent, and those of a cached prefix. */
  tokens: number
  cached: number
  /** The share of the budget that is used, at the end. */
  used: number
  /** Of the money, what calls cost that summarize. */
  summaries: number
  /** Calls that a provider would refuse: a tool call without its result, or a result without its call. */
  refused: number
}

const nothing = (): KeptCounts => ({
  pieces: 0,
  readable: 0,
  own: 0,
  short: 0,
  pointed: 0,
  dollars: 0,
  tokens: 0,
  cached: 0,
  used: 0,
  summaries: 0,
  refused: 0,
})

const sum = (rows: readonly KeptCounts[]): KeptCounts => {
  const all = nothing()
  for (const row of rows)
    for (const name of Object.keys(all) as (keyof KeptCounts)[])
      all[name] += name === 'used' ? row.used / rows.length : row[name]
  return all
}

const ofPolicy = (policy: Policy, budget: number, { messages, pieces }: Source, rates = opus): KeptCounts => {
  const prices = unitsOf(rates)
  const view = createHistory<Message>({ from: messages }).view()
  const asked = Map.groupBy(pieces, ({ at }) => at)
  const kept = nothing()
  let previous: DerivedContext | undefined
  for (let at = 1; at <= view.length; at++) {
    if (view.at(at)?.role !== 'assistant' && at < view.length && !asked.has(at)) continue
    const derived = deriveContext(view.slice(0, at), { budget, policy, prices, previous })
    if (isLeft(derived)) continue
    const context = (previous = derived.right)
    kept.dollars += (context.cost * rates.input) / 1e6
    if (isLeft(settle(context.messages))) kept.refused += 1
    kept.tokens += context.tokens
    kept.cached += context.stableTokens
    kept.used = context.tokens / budget
    const here = asked.get(at)
    if (here === undefined) continue
    const texts = [...context.messages].map(saidIn)
    const all = texts.join('\n')
    for (const { position, needle, words } of here) {
      // Of a marker only the line of the position itself.
      const stands = [...context.sources].flatMap((source, index) => {
        if (!('from' in source) || source.from > position || position >= source.to) return []
        const text = texts[index] ?? ''
        if (source.type === 'summary' || source.level !== 'pointer') return [text]
        return source.briefs?.includes(position) === true
          ? [
              text
                .split('\n')
                .filter((line) => line.startsWith(`${position} `))
                .join('\n'),
            ]
          : ['']
      })
      const short =
        words.length > 0 &&
        stands.some((text) => words.every((word) => text.toLowerCase().includes(word.toLowerCase())))
      kept.pieces += 1
      if ([...context.sources].some((source) => source.type === 'clone' && source.position === position)) kept.own += 1
      if (all.includes(needle)) kept.readable += 1
      else if (short) kept.short += 1
      else if (stands.length > 0) kept.pointed += 1
    }
  }
  return kept
}

/** Peers make messages anew, of the same parts. */
const isSame = (one: Message | undefined, other: Message | undefined): boolean =>
  one !== undefined &&
  other !== undefined &&
  one.content.length === other.content.length &&
  one.content.every((part, index) => part === other.content[index])

const ofPeer = async (
  make: MakePeer,
  budget: number,
  { messages, pieces }: Source,
  { input, cacheRead, cacheWrite, output }: ModelPrices = opus,
): Promise<KeptCounts> => {
  const peer = make(messages)
  const kept = nothing()
  const asked = Map.groupBy(pieces, (piece) => piece.at)
  let previous: readonly Message[] = []
  for (let at = 1; at <= messages.length; at++) {
    if (messages[at]?.role !== 'assistant' && at < messages.length && !asked.has(at)) continue
    const { messages: sent, summary } = await peer.trim(at, budget)
    const tokens = (some: readonly Message[]): number =>
      some.reduce((total, message) => total + estimateTokens(message), 0)
    /** The tokens of a request: those of the prefix that it shares with the request before, and all. */
    const read = (request: readonly Message[]): readonly [cached: number, all: number] => {
      let same = 0
      while (same < request.length && isSame(request[same], previous[same])) same += 1
      return [tokens(request.slice(0, same)), tokens(request)]
    }
    if (summary !== undefined) {
      const [cached, all] = read(summary.continued ?? [])
      const parts = [cached * cacheRead, (all - cached) * cacheWrite, (summary.apart ?? 0) * input]
      kept.summaries += (parts.reduce((sum, part) => sum + part, 0) + summary.output * output) / 1e6
    }
    const [cached, all] = read(sent)
    previous = sent
    kept.dollars += (cached * cacheRead + (all - cached) * cacheWrite) / 1e6
    kept.tokens += all
    kept.cached += cached
    if (sent.length === 0 || isLeft(settle(sent))) kept.refused += 1
    kept.used = all / budget
    const here = asked.get(at)
    if (here === undefined) continue
    const text = sent.map(saidIn).join('\n')
    kept.pieces += here.length
    kept.readable += here.filter(({ needle }) => text.includes(needle)).length
  }
  return kept
}

/** How many pieces one recall finds with the question as its query. */
const piecesFound = ({ messages, pieces }: Source, limit: number): number => {
  const view = createHistory<Message>({ from: messages }).view()
  const search = lexicalSearch()
  return pieces.filter(({ query, at, position }) =>
    search.search(view.slice(0, at), query, limit).some((one) => one.position === position),
  ).length
}

/* The tables. */

const shared = '../../shared/data/transcripts/'
const percent = (part: number, of: number): string => (of === 0 ? '' : `${((100 * part) / of).toFixed(1)} %`)

const row = (name: string, budget: number, kept: KeptCounts): string =>
  `| ${budget.toLocaleString('en')} | ${name} | ${percent(kept.readable, kept.pieces)} | ${percent(kept.readable + kept.short, kept.pieces)} | ${percent(kept.pointed, kept.pieces)} | ${kept.dollars === 0 ? '' : `$${kept.dollars.toFixed(2)}`} | ${percent(kept.used, 1)} |`

/** A budget at which a policy costs about so much. */
const budgetFor = (policy: Policy, dollars: number, from: number, sources: readonly Source[]): number => {
  let [low, high] = [from, from * 8]
  for (let round = 0; round < 5; round++) {
    const middle = (low + high) >> 1
    if (sum(sources.map((source) => ofPolicy(policy, middle, source))).dollars < dollars) low = middle
    else high = middle
  }
  return low
}

const table = async (title: string, sources: readonly Source[]): Promise<void> => {
  const pieces = sources.reduce((total, source) => total + source.pieces.length, 0)
  console.log(`### ${title}: ${pieces.toLocaleString('en')} pieces of evidence\n`)
  for (const limit of [5, 10])
    console.log(
      `- recall with ${limit} answers finds ${percent(
        sources.reduce((total, source) => total + piecesFound(source, limit), 0),
        pieces,
      )}`,
    )
  console.log(
    '\n| budget | | readable | or short | pointed at | money | of the budget |\n|---:|---|---:|---:|---:|---:|---:|',
  )
  for (const budget of budgets) {
    for (const policy of [paged(), thrifty, window])
      console.log(row(policy.name, budget, sum(sources.map((source) => ofPolicy(policy, budget, source)))))
    const atMoneyOf = (name: string, { dollars }: KeptCounts): void => {
      const same = budgetFor(paged(), dollars, budget, sources)
      const kept = sum(sources.map((source) => ofPolicy(paged(), same, source)))
      console.log(row(`paged, at ${name}'s money`, same, kept))
    }
    atMoneyOf('window', sum(sources.map((source) => ofPolicy(window, budget, source))))
    for (const make of [langChain, aiSdk]) {
      const rows: KeptCounts[] = []
      for (const source of sources) rows.push(await ofPeer(make, budget, source))
      const { name } = make([])
      console.log(row(name, budget, sum(rows)))
      atMoneyOf(name, sum(rows))
    }
  }
  console.log()
}

/** Cost in thousands of tokens of plain input. Means are over the budgets that a session exceeds. */
const atBudgets = (source: Source, thousandsOf: readonly number[]): void => {
  const view = createHistory<Message>({ from: source.messages }).view()
  console.log(`### ${source.name}: ${source.pieces.length} pieces of evidence\n`)
  console.log('| budget | cost: paged, thrifty | readable | rereads |\n|---:|---:|---:|---:|')
  const line = (
    name: string,
    of: readonly (KeptCounts & { readonly cost: number; readonly rereads: number })[],
  ): void => {
    const [costs, rereads] = [of.map(({ cost }) => cost / 1000), of.map((kept) => kept.rereads)]
    const less = (1 - (costs[1] ?? 0) / (costs[0] ?? 1)) * 100
    console.log(
      `| ${name} | ${costs.map((cost) => cost.toFixed(0)).join(', ')} (−${less.toFixed(0)} %) | ${of.map(({ readable, pieces }) => percent(readable, pieces)).join(', ')} | ${rereads.join(', ')} |`,
    )
  }
  const rows = thousandsOf.flatMap((thousands) => {
    const budget = thousands * 1000
    const of = [paged(), thrifty].map((policy) => {
      const { cost, rereads, epochs } = replay(view, { budget, policy })
      return Object.assign(ofPolicy(policy, budget, source), { cost, rereads, epochs })
    })
    if (of.every(({ epochs }) => epochs === 0)) return []
    line(`${thousands},000`, of)
    return [of]
  })
  const all = [0, 1].map((index) => {
    const own = rows.flatMap((row) => row[index] ?? [])
    const total = (which: 'cost' | 'rereads'): number => own.reduce((before, one) => before + one[which], 0)
    return Object.assign(sum(own), { cost: total('cost'), rereads: total('rereads') })
  })
  line('all', all)
  console.log()
}

/** Our policies beside what frameworks and providers do at a budget, at prices of today. */
const comparePolicies = async (sources: readonly Source[], model: string, budget: number): Promise<void> => {
  const rates = ratesOf(model)
  console.log(`### ${budget.toLocaleString('en')} tokens, ${model} (${rates.source}, read on ${rates.read})\n`)
  console.log('| | readable | money | of it summaries | cacheable | refused |\n|---|---:|---:|---:|---:|---:|')
  const show = (name: string, rows: readonly KeptCounts[]): void => {
    const { pieces, readable, dollars, summaries, cached, tokens, refused } = sum(rows)
    console.log(
      `| ${name} | ${percent(readable, pieces)} | $${(dollars + summaries).toFixed(2)} | $${summaries.toFixed(2)} | ${percent(cached, tokens)} | ${refused} |`,
    )
  }
  for (const policy of [paged(), thrifty, window])
    show(
      policy.name,
      sources.map((source) => ofPolicy(policy, budget, source, rates)),
    )
  const ofProvider = model.startsWith('gpt') ? openaiCompaction : anthropicCompaction
  for (const make of [ofProvider, langChainSummary, langChain, aiSdk]) {
    const rows: KeptCounts[] = []
    for (const source of sources) rows.push(await ofPeer(make, budget, source, rates))
    show(make([]).name, rows)
  }
  console.log()
}

console.log(`${machine()}; money at ${opus.source}, read on ${opus.read}, for what is sent\n`)
const conversations = [26, 30, 41, 42, 43, 44]
const sessions = ['coding-agent.pi-session.jsonl', 'claude-code-opus-4-5.jsonl', 'codex-gpt-5-2.jsonl']
const giants = ['opencode-claude-opus-4-6.jsonl', 'opencode-gpt-5-2-codex.jsonl', 'gemini-cli-3-pro-preview.json']
const isThere = existsSync(new URL(shared, import.meta.url))
if (process.argv.includes('budgets')) {
  if (isThere) {
    for (const file of sessions) atBudgets(coding(file), [10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 64])
    for (const file of giants) atBudgets(coding(file), [8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48])
  }
} else if (process.argv.includes('compaction')) {
  const sources = isThere ? sessions.map(coding).map(withWholeAnswers) : []
  for (const budget of [32_000, 50_000])
    for (const model of ['claude-opus-5-5', 'gpt-6.2-sol']) await comparePolicies(sources, model, budget)
} else if (process.argv.includes('talk')) {
  const sources = conversations.map(locomo)
  console.log(
    '| budget | | readable | as messages of their own | or short | money | cacheable |\n|---:|---|---:|---:|---:|---:|---:|',
  )
  for (const budget of [8_000, 16_000])
    for (const policy of [paged(), window]) {
      const shares = policy === paged() ? [0.9, 0.95, 1, 1.05, 1.1] : [1]
      const kept = sum(
        shares.flatMap((share) => sources.map((one) => ofPolicy(policy, Math.round(budget * share), one))),
      )
      console.log(
        `| ${budget.toLocaleString('en')} | ${policy.name} | ${percent(kept.readable, kept.pieces)} | ${percent(kept.own, kept.pieces)} | ${percent(kept.readable + kept.short, kept.pieces)} | $${(kept.dollars / shares.length).toFixed(2)} | ${percent(kept.cached, kept.tokens)} |`,
      )
    }
} else {
  if (existsSync(new URL('.cache/locomo/26.json', import.meta.url))) await table('LoCoMo', conversations.map(locomo))
  else console.log('.cache/locomo is not there: LoCoMo is left out')
  if (isThere) await table('Coding sessions', sessions.map(coding))
}
