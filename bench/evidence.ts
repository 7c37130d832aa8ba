/**
 * Conversations with known evidence: what will be asked of them later, and how much of that a context still has.
 *
 * Two sources. Six conversations of LoCoMo (snap-research/locomo, without a licence file, so not in this repository): put
 * `26.json`, `30.json`, `41.json`, `42.json`, `43.json` and `44.json` of its `data/locomo10.zip` into `.cache/locomo`. The
 * questions are asked at the end. And coding sessions, where a later call uses a path or a name that a result was the
 * first to say: that result is the evidence, asked for at that call with what the model says beside it.
 */
import { existsSync, readFileSync } from 'node:fs'
import { isLeft } from 'fp-ts/lib/Either.js'
import {
  createHistory,
  settle,
  toolCallsOf,
  user,
  assistant,
  toolCall,
  toolResult,
  text,
  type Message,
  type Part,
  type View,
} from 'indelible'
import { estimateTokens, type DerivedContext } from 'indelible/context'
import { toolResultsOf } from 'indelible/message'
import { readTranscript } from '@indelible/transcripts'

const shared = '../../shared/data/transcripts/'
export const hasTranscripts: boolean = existsSync(new URL(shared, import.meta.url))
export const hasLocomo: boolean = existsSync(new URL('.cache/locomo/26.json', import.meta.url))

export interface Piece {
  readonly query: string
  /** After so many messages. */
  readonly at: number
  /** Where it stands, and what of it must be readable. */
  readonly position: number
  readonly needle: string
  /** Words of the answer that the message has; none if it puts the answer in other words. */
  readonly words: readonly string[]
}

export interface Source {
  readonly name: string
  readonly messages: readonly Message[]
  readonly pieces: readonly Piece[]
}

/* The questions. */

/** The text of a message itself, without that of its tool results. */
const textOf = ({ content }: Message): string => content.map((part) => (part.type === 'text' ? part.text : '')).join('')

const wordsOf = (text: string): readonly string[] => [...new Set(text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? [])]

const stopWords: ReadonlySet<string> = new Set(
  'the and for with was were are his her their she him they that this has have had from not but you your about into out what when who how which been being some its all can did does'.split(
    ' ',
  ),
)

export const locomo = (id: number): Source => {
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
      .flatMap((output) => output.match(/D\d+:\d+/g) ?? [])
      .flatMap((named) => at.get(named) ?? [])
      .map((position): Piece => {
        const needle = textOf(messages[position] as Message)
        const there = new Set(wordsOf(needle))
        const words = wordsOf(String(answer ?? other ?? '')).filter((word) => there.has(word) && !stopWords.has(word))
        return { query: question, at: messages.length, position, needle, words }
      }),
  )
  return { name: `LoCoMo ${id}`, messages, pieces }
}

/** What a call can repeat of a result: a path, or a name that no sentence has. */
const name = /(?:[\w@.~-]*\/)+[\w@.~-]+|\b\w+(?:[_.]\w+)+\b|\b[a-z]+(?:[A-Z][a-z0-9]+)+\b/g

/** Names that a result was the first to say and that a call uses at least ten messages later, for the first time. */
export const coding = (file: string): Source => {
  const transcript = readTranscript(readFileSync(new URL(`${shared}${file}`, import.meta.url)))
  if (isLeft(transcript)) throw new Error(file)
  const { messages } = transcript.right
  const seen = new Map<string, number | undefined>()
  const pieces: Piece[] = []
  let asked = ''
  for (const [position, message] of messages.entries()) {
    if (message.role === 'user') asked = textOf(message) || asked
    for (const needle of textOf(message).match(name) ?? []) if (!seen.has(needle)) seen.set(needle, undefined)
    const used = new Map<number, string>()
    for (const call of toolCallsOf(message))
      for (const needle of call.arguments.match(name) ?? []) {
        const first = seen.get(needle)
        if (first !== undefined && position - first >= 10 && needle.length >= 8) used.set(first, needle)
        seen.set(needle, undefined)
      }
    for (const [first, needle] of used)
      pieces.push({ query: textOf(message) || asked, at: position, position: first, needle, words: [needle] })
    for (const result of toolResultsOf(message))
      for (const needle of new Set(result.content.map(plain).join('\n').match(name) ?? []))
        if (!seen.has(needle)) seen.set(needle, position)
  }
  return { name: file, messages, pieces }
}

/**
 * The source as an application would hold it: each answer is one message (some programs record one as several, and no call
 * begins between them), and no call is without a result.
 */
export const withWholeAnswers = ({ name, messages, pieces }: Source): Source => {
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

const wholeText = (message: Message): string => message.content.map(plain).join('\n')

/* What a policy keeps of it. */

/** What is measured: the context before each answer, and before each question. */
export interface Contexts {
  /** The context for what was recorded so far; undefined if there is none. */
  readonly derive: (
    view: View<Message>,
    budget: number,
    previous: DerivedContext | undefined,
  ) => DerivedContext | undefined
}

export interface Measured {
  pieces: number
  readable: number
  /** Of these, those that are the recorded message and not in a marker. */
  own: number
  /** Not readable, but its line in a marker has the words of the answer. */
  short: number
  pointed: number
  /** The tokens that were sent, and those of a cached prefix; and their cost in tokens of plain input. */
  tokens: number
  cached: number
  cost: number
  /** Calls that a provider would refuse: a tool call without its result, or a result without its call. */
  refused: number
  overBudget: number
  unfit: number
  calls: number
  /** Calls that repeat an earlier one, whose result was only pointed at. */
  rereads: number
  epochs: number
  /** The share of the newest tokens, an eighth of the budget, that is full; summed over calls. */
  recency: number
  /** Calls for which the first message of the user is not readable at all. */
  lostTask: number
}

export const nothing = (): Measured => ({
  ...{ pieces: 0, readable: 0, own: 0, short: 0, pointed: 0, tokens: 0, cached: 0, cost: 0, refused: 0 },
  ...{ overBudget: 0, unfit: 0, calls: 0, rereads: 0, epochs: 0, recency: 0, lostTask: 0 },
})

export const sum = (rows: readonly Measured[]): Measured => {
  const all = nothing()
  for (const row of rows) for (const name of Object.keys(all) as (keyof Measured)[]) all[name] += row[name]
  return all
}

const counts = new WeakMap<Message, number>()
const countOf = (message: Message): number => {
  const known = counts.get(message) ?? estimateTokens(message)
  counts.set(message, known)
  return known
}

/** The tokens a context is measured by, cached at 0.1 and others at 1.25 unless `prices` differ. */
export const measure = (
  { derive }: Contexts,
  budget: number,
  { messages, pieces }: Source,
  prices: { readonly cached: number; readonly fresh: number } = { cached: 0.1, fresh: 1.25 },
): Measured => {
  const view = createHistory<Message>({ from: messages }).view()
  const asked = Map.groupBy(pieces, ({ at }) => at)
  const results = resultsByCall(messages)
  const kept = nothing()
  const firstAsk = messages.findIndex(
    ({ role, content }) => role === 'user' && content.some(({ type }) => type !== 'tool_result'),
  )
  let previous: DerivedContext | undefined
  for (let at = 1; at <= view.length; at++) {
    const isCall = view.at(at)?.role === 'assistant'
    if (!isCall && at < view.length && !asked.has(at)) continue
    const context = derive(view.slice(0, at), budget, previous)
    if (context === undefined) {
      kept.unfit += 1
      continue
    }
    kept.calls += 1
    if (previous !== undefined && context.stablePrefix < previous.messages.length) kept.epochs += 1
    previous = context
    kept.tokens += context.tokens
    kept.cached += context.stableTokens
    kept.cost += context.stableTokens * prices.cached + (context.tokens - context.stableTokens) * prices.fresh
    if (isLeft(settle(context.messages))) kept.refused += 1
    if (context.tokens > budget) kept.overBudget += 1
    const levels = context.residency.toArray()
    let [newest, full] = [0, 0]
    for (let index = at - 1; index >= 0 && newest < budget / 8; index--) {
      const tokens = Math.min(countOf(view.at(index) as Message), budget / 8 - newest)
      newest += tokens
      if (levels[index] === 'full') full += tokens
    }
    kept.recency += newest === 0 ? 1 : full / newest
    if (firstAsk >= 0 && firstAsk < at && levels[firstAsk] === 'pointer') kept.lostTask += 1
    for (const call of isCall ? toolCallsOf(view.at(at) as Message) : []) {
      const earlier = results.get(callKey(call))?.findLast((index) => index < at)
      if (earlier !== undefined && levels[earlier] === 'pointer') kept.rereads += 1
    }
    const here = asked.get(at)
    if (here === undefined) continue
    const texts = [...context.messages].map(wholeText)
    const sources = [...context.sources]
    const all = texts.join('\n')
    for (const { position, needle, words } of here) {
      // Of a marker only the line of the position itself.
      const shown = sources.flatMap((source, index) => {
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
        words.length > 0 && shown.some((text) => words.every((word) => text.toLowerCase().includes(word.toLowerCase())))
      kept.pieces += 1
      if (sources.some((source) => source.type === 'clone' && source.position === position)) kept.own += 1
      if (all.includes(needle)) kept.readable += 1
      else if (short) kept.short += 1
      else if (shown.length > 0) kept.pointed += 1
    }
  }
  return kept
}

/** The positions of results by what was called. */
const resultsByCall = (messages: readonly Message[]): ReadonlyMap<string, readonly number[]> => {
  const open = new Map<string, string>()
  const results = new Map<string, number[]>()
  for (const [position, message] of messages.entries())
    for (const part of message.content) {
      if (part.type === 'tool_call') open.set(part.id, callKey(part))
      const key = part.type === 'tool_result' ? open.get(part.callId) : undefined
      if (key !== undefined) results.set(key, [...(results.get(key) ?? []), position])
    }
  return results
}

const callKey = ({ name, arguments: json }: { readonly name: string; readonly arguments: string }): string =>
  `${name} ${json.trim()}`

/**
 * A session with large turns: of its tokens 62 % are in turns of more than 16,000 tokens, 28 % in turns of more than 32,000. Each turn
 * reads files, whose names a later turn uses, and edits them.
 */
export const largeTurns = (): Source => {
  let seed = 7
  const random = (most: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
    return Math.floor((seed / 2 ** 31) * most)
  }
  const pick = <T>(from: readonly T[]): T => from[random(from.length)] as T
  const nouns =
    'invoice ledger payment session customer address tariff parser writer schema cursor bucket ticket report budget'.split(
      ' ',
    )
  const verbs = 'load store merge split check count render apply close import export resolve update filter'.split(' ')
  const nameOf = (): string =>
    `${pick(verbs)}${pick(nouns).replace(/^./, (letter) => letter.toUpperCase())}${random(90) + 10}`
  const messages: Message[] = [
    { role: 'system', content: [text('You are a coding agent. Work in small steps and run the tests after each.')] },
  ]
  const pieces: Piece[] = []
  const known: { readonly name: string; readonly position: number }[] = []
  let call = 0
  /** Tokens of the turns: many small, some above 16,000, few above 32,000. */
  const turns = [
    3, 18, 5, 35, 4, 9, 22, 2, 6, 19, 12, 3, 39, 7, 17, 4, 11, 15, 5, 8, 21, 3, 36, 6, 10, 14, 13, 2, 17, 5,
  ].map((thousands) => thousands * 1000)
  for (const [index, size] of turns.entries()) {
    const subject = `src/${pick(nouns)}/${pick(nouns)}-${pick(verbs)}-${index}.ts`
    messages.push(
      user(
        `Please ${pick(verbs)} the ${pick(nouns)} in ${subject}: ${pick(nouns)} ${random(900)} is wrong since the last release.`,
      ),
    )
    let tokens = 0
    while (tokens < size) {
      // A later turn asks for what an earlier one read.
      if (known.length > 4 && random(5) === 0) {
        const [piece] = known.splice(Math.max(0, known.length - 1 - random(40)), 1)
        if (piece !== undefined && messages.length - piece.position >= 10)
          pieces.push({
            query: piece.name,
            at: messages.length,
            position: piece.position,
            needle: piece.name,
            words: [piece.name],
          })
      }
      const id = `call_${call++}`
      const path = `src/${pick(nouns)}/${pick(nouns)}-${random(400)}.ts`
      const kind = random(4)
      const request =
        kind === 0
          ? toolCall(id, 'edit', { path, from: `const ${nameOf()} = 1`, to: `const ${nameOf()} = ${random(99)}` })
          : kind === 1
            ? toolCall(id, 'bash', { command: `npm test -- ${path}` })
            : toolCall(id, 'read', { path, offset: random(9) * 100 })
      messages.push(
        assistant(
          ...(random(3) === 0 ? [text(`Next ${path}, because ${pick(nouns)} may ${pick(verbs)} it twice.`)] : []),
          request,
        ),
      )
      const lines: string[] = []
      const count = kind === 0 ? 2 : kind === 1 ? 4 + random(20) : 8 + random(60)
      for (let line = 0; line < count; line++)
        lines.push(`  const ${pick(nouns)}${line} = await ${nameOf()}(${pick(nouns)}, ${random(999)})`)
      const own = nameOf() + index
      lines.push(`export const ${own} = () => ${pick(nouns)}`)
      messages.push(toolResult(id, [text(lines.join('\n'))], { name: 'read' }))
      known.push({ name: own, position: messages.length - 1 })
      tokens += countOf(messages.at(-1) as Message) + countOf(messages.at(-2) as Message)
    }
    messages.push(
      assistant(`Done: ${subject} now ${pick(verbs)}s each ${pick(nouns)} once, and all ${random(400)} tests pass.`),
    )
  }
  return { name: 'a session with large turns', messages: messages.map(frozen), pieces }
}

/** Frozen deeply, so that its tokens are counted once. */
const frozen = (message: Message): Message =>
  createHistory<Message>({ from: [message] })
    .view()
    .at(0) as Message
