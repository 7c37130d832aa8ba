/** Replay: shows what a policy would have sent before each answer of a recorded conversation, and judges it. */
import {
  estimateTokens,
  usableTokens,
  type Budget,
  type DerivedContext,
  type Estimator,
  type Prices,
} from 'indelible/context'
import { memoizeEstimator } from 'indelible/internal/context'
import { defaultPrices } from 'indelible/internal/prices'
import type { View } from 'indelible/history'
import { isLeft, sortKeys } from 'indelible/internal/json'
import { toolCallsOf, type Message, type ToolCallPart } from 'indelible/message'
import type { PageKind } from 'indelible/pages'
import { absentRank, judgeOf, rankOf, type ContextFaults } from './judge.ts'
import { paged, type ComparedPolicy } from '@indelible/view/internal'

/** Options of a replay. */
interface ReplayOptions {
  /** The tokens for each call. */
  readonly budget: Budget
  /** The policy. Default: `paged`. */
  readonly policy?: ComparedPolicy
  /** Token prices. Default: cached tokens at 0.1, others at 1.25. */
  readonly prices?: Prices
  /** Counts tokens. Default: `estimateTokens`. */
  readonly estimate?: Estimator
  /**
   * Called for each answer, so that a program can collect other figures: dollars, or the provider's counts.
   *
   * @param position its index in the view
   * @param context the context derived before it; undefined if the minimum did not fit
   */
  readonly onAnswer?: (answer: Message, position: number, context: DerivedContext | undefined) => void
  /**
   * Called before each context is derived, to show progress.
   *
   * @param done the number of messages already replayed
   */
  readonly onProgress?: (done: number, of: number) => void
}

/** The results of a replay, over all calls of a recorded conversation. */
export interface Replay {
  /** The name of the policy. */
  readonly policy: string
  /** The tokens available for messages. */
  readonly budget: number
  /** The number of model answers, and so of derived contexts. */
  readonly calls: number
  /** Calls for which the minimum did not fit. They are not counted in the figures below. */
  readonly unfit: number
  /** The total number of tokens sent. */
  readonly tokens: number
  /** The share of tokens in a prefix that the previous call also had: a prompt cache can hold them. */
  readonly cacheable: number
  /** The cost, in tokens of plain input. */
  readonly cost: number
  /** The median derive time, in microseconds. */
  readonly median: number
  /** The 99th percentile of the derive time, in microseconds. */
  readonly p99: number
  /** How often messages that had already been sent changed. */
  readonly epochs: number
  /** How often contexts violated each guarantee. */
  readonly faults: ContextFaults
  /** Calls that the recording repeated with equal arguments. */
  readonly repeats: number
  /** Repeated calls whose earlier result was shown below `structured`: a measurement, not a fault. */
  readonly rereads: number
}

/**
 * Derives a context before each answer of a recorded conversation, as if calling the model, and measures all of them.
 *
 * Cost    O(calls × record): each context is checked against everything recorded before it, one byte per message
 *
 * @example
 * replay(view, { budget: 32_000, policy: window }).cacheable // the share of a cached prefix, from 0 to 1
 */
export const replay = (view: View<Message>, options: ReplayOptions): Replay => {
  const { budget, policy = paged, prices = defaultPrices, estimate = estimateTokens, onProgress, onAnswer } = options
  const recording = view.toArray()
  const count = memoizeEstimator(estimate)
  const answers = answersIn(recording)
  const judge = judgeOf(view, (index) => view.pages.at(index) as PageKind, count)

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
  let [unfit, tokens, stable, cost, epochs, repeats, rereads] = [0, 0, 0, 0, 0, 0, 0]
  const settings = { budget, prices, notes: [], ...(options.estimate !== undefined && { estimate }) }
  let previous: DerivedContext | undefined
  for (const [position, message] of recording.entries()) {
    if (message.role !== 'assistant') continue
    onProgress?.(position, view.length)
    const seen = view.slice(0, position)
    const from = performance.now()
    const derived = policy.derive(seen, { ...settings, previous })
    times.push((performance.now() - from) * 1000)
    const context = isLeft(derived) ? undefined : derived.right
    onAnswer?.(message, position, context)
    if (context === undefined) {
      unfit += 1
      continue
    }
    tokens += context.tokens
    stable += context.stableTokens
    cost += context.cost
    if (previous !== undefined && context.stablePrefix < previous.messages.length) epochs += 1
    previous = context
    const { shown, faults: found } = judge(context, position)
    for (const name of Object.keys(found) as (keyof typeof found)[]) faults[name] += found[name]
    for (const call of toolCallsOf(message)) {
      const earlier = answers.get(callKey(call))?.findLast((at) => at < position)
      if (earlier === undefined) continue
      repeats += 1
      const level = shown[earlier] ?? absentRank
      if (level > rankOf('pointer')) faults.refetch += 1
      if (level > rankOf('structured')) rereads += 1
    }
  }
  const sorted = times.toSorted((a, b) => a - b)
  return Object.freeze<Replay>({
    policy: policy.name,
    budget: previous?.budget ?? usableTokens(budget),
    calls: times.length,
    unfit,
    tokens,
    cacheable: tokens === 0 ? 0 : stable / tokens,
    cost,
    median: quantile(sorted, 0.5),
    p99: quantile(sorted, 0.99),
    epochs,
    faults: Object.freeze(faults),
    repeats,
    rereads,
  })
}

/** The positions of results by call key; several if a call was repeated. */
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

/** The key of a call: equal for the same name and arguments. */
const callKey = ({ name, arguments: args }: ToolCallPart): string => {
  try {
    return `${name} ${JSON.stringify(sortKeys(JSON.parse(args)))}`
  } catch {
    return `${name} ${args.trim()}`
  }
}

/** A quantile of sorted numbers; 0 if there are none. */
const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
