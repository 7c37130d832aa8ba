/** Replay, the judge: a recorded conversation, and what a policy would have sent at each of its answers. */
import { isLeft, optionsOf } from '../../json/index.ts'
import type { View } from '../../history/index.ts'
import { toolCallsOf, type Message } from '../../message/index.ts'
import { foldPages, type Note } from '../../notes/kit.ts'
import type { PageKind } from '../../pages/index.ts'
import type { Sequence } from '../../sequence/index.ts'
import { usableTokens, type Budget } from '../deriving/budget.ts'
import { defaultPrices, deriveContext, type DerivedContext, type Prices } from '../deriving/derive.ts'
import { inputDollars, outputDollars, unitsOf, type ModelPrices } from '../counting/model-prices.ts'
import { absent, judgeOf, type ContextFaults } from './judge.ts'
import { paged } from '../policies/paged.ts'
import type { Policy } from '../policies/policy.ts'
import { callKey } from './repeats.ts'
import { estimateTokens, remembering, type Estimator } from '../counting/tokens.ts'
import { rankOf } from '../deriving/unit.ts'

/** How to derive the contexts of a replay. */
export interface ReplayOptions {
  /** The tokens of each call. */
  readonly budget: Budget
  /** The policy. Default: `paged`. */
  readonly policy?: Policy
  /** The notes of the record. Default: none. */
  readonly notes?: Sequence<Note>
  /** Prices of tokens. Default: those of `model`, or cached tokens at 0.1 and others at 1.25. */
  readonly prices?: Prices
  /** The list prices of a model, from `pricesOf`. With them the replay has `dollars`. */
  readonly model?: ModelPrices
  /** Tokens of the tool definitions. Default: 0. */
  readonly toolTokens?: number
  /** Tokens of a system prompt outside the record. Default: 0. */
  readonly systemTokens?: number
  /** Counts tokens. Default: `estimateTokens`. */
  readonly estimate?: Estimator
  /**
   * The tokens that the provider counted for the call of an answer. See `countedIn`.
   *
   * @param answer a message of the assistant
   * @param position its position
   * @returns the count; undefined if the recording has none
   */
  readonly counted?: (answer: Message, position: number) => ProviderCount | undefined
  /**
   * The time of an answer. See `timeIn`. With times `cost` and `dollars` know where the cache of the provider has expired.
   * Default: it never does.
   *
   * @param answer a message of the assistant
   * @param position its position
   * @returns milliseconds; undefined if the recording has none
   */
  readonly timeOf?: (answer: Message, position: number) => number | undefined
  /**
   * How long the cache of the provider lasts after a call, in milliseconds. Default: 300,000, what Anthropic documents and the
   * least that OpenAI does.
   *
   * Source  platform.claude.com, build-with-claude/prompt-caching, as others quoted it on 2026-11-22
   */
  readonly cacheLifetime?: number
  /**
   * The clock that times each derive. Default: `performance.now`.
   *
   * @returns milliseconds
   */
  readonly now?: () => number
  /**
   * Called before each context is derived, so that a program can show how far it is.
   *
   * @param done the messages of the recording that are done
   * @param of all of its messages
   */
  readonly onProgress?: (done: number, of: number) => void
}

/** The tokens that a provider counted for one call. */
export interface ProviderCount {
  /** The input tokens that the provider counted. */
  readonly input: number
  /** The input tokens that it read from its cache. */
  readonly cached: number
}

/** A replay compared with the counts of the provider, for the calls that have one. Use it with an unlimited budget. */
export interface AgainstProvider {
  /** The number of calls compared. */
  readonly calls: number
  /** The share of the input that the provider's cache served. */
  readonly served: number
  /** Calls after the first for which the cache served nothing; recordings don't say why. */
  readonly misses: number
  /** The share that the cache served for all other calls. */
  readonly servedElse: number
  /**
   * The share that a cache could hold by this replay, counting the tokens outside the record (tools, system prompt).
   */
  readonly cacheable: number
  /** The growth of the input from call to call by this replay, per token of growth by the provider's count. */
  readonly growth: number
}

/** The measurements of a replay, over all calls of a recorded conversation. */
export interface Replay {
  /** The name of the policy. */
  readonly policy: string
  /** The tokens available for messages. */
  readonly budget: number
  /** The number of answers of the model, and so of derived contexts. */
  readonly calls: number
  /** Calls for which the minimum did not fit. They are not counted below. */
  readonly unfit: number
  /** Tokens sent in all. */
  readonly tokens: number
  /** The share of the tokens in the prefix that the last call had, too: a prompt cache can hold them. */
  readonly cacheable: number
  /** The cost, in tokens of plain input. */
  readonly cost: number
  /** With a `model`: the price of the input that was sent and of the recorded answers, in US dollars. */
  readonly dollars?: { readonly input: number; readonly output: number }
  /** With `timeOf`: calls that came after the cache had expired. `cost` and `dollars` count all of their input as not cached. */
  readonly expired?: number
  /** With `counted`: the comparison with the provider's counts. */
  readonly provider?: AgainstProvider
  /** The median time of one derive, in microseconds. */
  readonly median: number
  /** The 99th percentile of the same, in microseconds. */
  readonly p99: number
  /** How often messages that had already been sent changed. */
  readonly epochs: number
  /** How often a context broke each law. */
  readonly faults: ContextFaults
  /** Calls that the recording made again, with equal arguments. */
  readonly repeats: number
  /** Repeated calls whose earlier result was below `structured` in the context: a measure, not a fault. */
  readonly rereads: number
}

/**
 * Derive a context before each answer of a recorded conversation, as if calling the model, and measure them all.
 *
 * Cost    O(calls × record): every context is checked against everything recorded before it, at a byte a message
 *
 * @param view the recorded conversation
 * @param options budget, policy and prices
 * @returns the measurements
 * @example
 * replay(view, { budget: 32_000, policy: window }).cacheable // the share of a cached prefix, from 0 to 1
 */
export const replay = (view: View<Message>, asked: ReplayOptions): Replay => {
  const options = optionsOf('replay', asked)
  const {
    policy = paged(),
    notes = [],
    model,
    prices = model === undefined ? defaultPrices : unitsOf(model),
    estimate = estimateTokens,
    now = () => performance.now(),
    timeOf,
    cacheLifetime = 300_000,
  } = options
  const recording = view.toArray()
  const count = remembering(estimate)
  const retagged = foldPages(notes)
  const kindOf = (index: number): PageKind =>
    retagged.get(view.positionAt(index) as number) ?? (view.pages.at(index) as PageKind)
  const answers = answersIn(recording)
  const judge = judgeOf(view, kindOf, count)

  const faults = {
    bootstrapMissing: 0,
    pinnedMissing: 0,
    questionHidden: 0,
    pairingViolated: 0,
    overBudget: 0,
    silentLoss: 0,
    refetch: 0,
  }
  const times: number[] = []
  let [unfit, tokens, stable, cost, expired, epochs, repeats, rereads] = [0, 0, 0, 0, 0, 0, 0, 0]
  let last: number | undefined
  const dollars = { input: 0, output: 0 }
  const counts: Compared[] = []
  const { budget, toolTokens = 0, systemTokens = 0 } = options
  const beside = toolTokens + systemTokens
  const given = { budget, toolTokens, systemTokens, ...(options.estimate !== undefined && { estimate }), notes, prices }
  let previous: DerivedContext | undefined
  for (const [position, message] of recording.entries()) {
    if (message.role !== 'assistant') continue
    options.onProgress?.(position, view.length)
    const seen = view.slice(0, position)
    const time = timeOf?.(message, position)
    const isExpired = time !== undefined && last !== undefined && time - last > cacheLifetime
    last = time ?? last
    if (isExpired) expired += 1
    const from = now()
    const derived = deriveContext(seen, { ...given, policy, previous })
    times.push((now() - from) * 1000)
    if (isLeft(derived)) {
      unfit += 1
      continue
    }
    const context = derived.right
    tokens += context.tokens
    stable += context.stableTokens
    cost += isExpired ? context.tokens * prices.fresh : context.cost
    if (model !== undefined) {
      const cached = isExpired ? 0 : context.stableTokens + (previous === undefined ? 0 : beside)
      dollars.input += inputDollars(model, context.tokens + beside, cached)
      dollars.output += outputDollars(model, context.tokens + beside, count(message))
    }
    if (previous !== undefined && context.stablePrefix < previous.messages.length) epochs += 1
    previous = context
    const theirs = options.counted?.(message, position)
    if (theirs !== undefined && theirs.input > 0)
      counts.push({ theirs, tokens: context.tokens, stable: context.stableTokens })

    const { shown, faults: found } = judge(context, position)
    for (const name of Object.keys(found) as (keyof typeof found)[]) faults[name] += found[name]
    for (const call of toolCallsOf(message)) {
      const earlier = answers.get(callKey(call))?.findLast((at) => at < position)
      if (earlier === undefined) continue
      repeats += 1
      const level = shown[earlier] ?? absent
      if (level > rankOf('pointer')) faults.refetch += 1
      if (level > rankOf('structured')) rereads += 1
    }
  }
  const sorted = times.toSorted((a, b) => a - b)
  return Object.freeze<Replay>({
    policy: policy.name,
    budget: previous?.budget ?? usableTokens(options.budget),
    calls: times.length,
    unfit,
    tokens,
    cacheable: tokens === 0 ? 0 : stable / tokens,
    cost,
    ...(model !== undefined && { dollars: Object.freeze(dollars) }),
    ...(timeOf !== undefined && { expired }),
    ...(counts.length > 0 && { provider: against(counts) }),
    median: quantile(sorted, 0.5),
    p99: quantile(sorted, 0.99),
    epochs,
    faults: Object.freeze(faults),
    repeats,
    rereads,
  })
}

declare const performance: { readonly now: () => number }

interface Compared {
  readonly theirs: ProviderCount
  readonly tokens: number
  readonly stable: number
}

const against = (counts: readonly Compared[]): AgainstProvider => {
  const [first] = counts
  const beside = first === undefined ? 0 : Math.max(0, first.theirs.input - first.tokens)
  const sums = { input: 0, cached: 0, misses: 0, missed: 0, tokens: 0, stable: 0, grown: 0, grows: 0 }
  for (const [index, { theirs, tokens, stable }] of counts.entries()) {
    sums.input += theirs.input
    sums.cached += theirs.cached
    if (index > 0 && theirs.cached === 0) {
      sums.misses += 1
      sums.missed += theirs.input
    }
    sums.tokens += tokens + beside
    sums.stable += stable === 0 ? 0 : stable + beside
    const before = counts[index - 1]
    if (before === undefined || theirs.input <= before.theirs.input || tokens <= before.tokens) continue
    sums.grown += theirs.input - before.theirs.input
    sums.grows += tokens - before.tokens
  }
  return Object.freeze({
    calls: counts.length,
    served: sums.cached / sums.input,
    misses: sums.misses,
    servedElse: sums.input === sums.missed ? 0 : sums.cached / (sums.input - sums.missed),
    cacheable: sums.stable / sums.tokens,
    growth: sums.grown === 0 ? 1 : sums.grows / sums.grown,
  })
}

/** Where the result of each call stands, by what the call asks; several where it was made again. */
const answersIn = (recording: readonly Message[]): ReadonlyMap<string, readonly number[]> => {
  const open = new Map<string, string>()
  const answers = new Map<string, number[]>()
  for (const [position, message] of recording.entries())
    for (const part of message.content) {
      if (part.type === 'tool_call') open.set(part.id, callKey(part))
      else if (part.type === 'tool_result') {
        const key = open.get(part.callId)
        if (key !== undefined) answers.set(key, [...(answers.get(key) ?? []), position])
      }
    }
  return answers
}

/** Of sorted numbers, the one that so many are not above; 0 of none. */
const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
