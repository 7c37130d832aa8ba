/** Replay, the judge: a recorded conversation, and what a policy would have sent at each of its answers. */
import { isLeft } from 'fp-ts/lib/Either.js'
import type { View } from '../history/index.ts'
import { toolCallsOf, type Message } from '../message/index.ts'
import { foldPages, type Note } from '../notes/index.ts'
import type { PageKind } from '../pages/index.ts'
import type { Sequence } from '../sequence/index.ts'
import { usableTokens, type Budget } from './budget.ts'
import { defaultPrices, deriveContext, type DerivedContext, type Prices } from './derive.ts'
import { absent, faultsOf, shownIn, type ContextFaults } from './judge.ts'
import { oracle } from './oracle.ts'
import { paged } from './paged.ts'
import type { EvaluationPolicy, Policy } from './policy.ts'
import { callKey } from './repeats.ts'
import { estimateTokens, remembering, type Estimator } from './tokens.ts'
import { rankOf } from './unit.ts'

export interface ReplayOptions {
  readonly budget: Budget
  /** Default: `paged`. */
  readonly policy?: Policy | EvaluationPolicy
  readonly notes?: Sequence<Note>
  readonly prices?: Prices
  readonly toolTokens?: number
  readonly systemTokens?: number
  readonly estimate?: Estimator
  /** A clock, in milliseconds. Default: `performance.now`. */
  readonly now?: () => number
}

export interface Replay {
  readonly policy: string
  /** The tokens there were for messages. */
  readonly budget: number
  /** Answers of the model: so many contexts were derived. */
  readonly calls: number
  /** Calls for which the minimum did not fit. Nothing was sent, and nothing below counts them. */
  readonly unfit: number
  /** Tokens sent in all. */
  readonly tokens: number
  /** The share of them in the prefix that the call before had too: what a prompt cache can hold. */
  readonly cacheable: number
  /** What they cost, in tokens of plain input. */
  readonly cost: number
  /** Microseconds for one derive. */
  readonly median: number
  readonly p99: number
  /** How often something changed that had been sent before. */
  readonly epochs: number
  readonly faults: ContextFaults
  /** Calls that the recording made again, with equal arguments. */
  readonly repeats: number
  /** Of these, those whose earlier result was below structured: a measure, not a fault. */
  readonly rereads: number
  /** The same for `oracle`, which knew what would come. */
  readonly oracleRereads: number
}

/**
 * Derive a context before each answer of a recorded conversation, as if calling the model, and judge them all.
 *
 * Cost    O(calls × record): every context is checked against all that was recorded before it
 */
export const replay = (view: View<Message>, options: ReplayOptions): Replay => {
  const { policy = paged } = options
  const result = run(view, { ...options, policy })
  const best = 'evaluationOnly' in policy && policy.name === 'oracle' ? result : run(view, { ...options, policy: oracle() })
  return Object.freeze({ ...result, oracleRereads: best.rereads })
}

declare const performance: { readonly now: () => number }

const run = (view: View<Message>, options: ReplayOptions & { readonly policy: Policy | EvaluationPolicy }): Omit<Replay, 'oracleRereads'> => {
  const { policy, notes = [], prices = defaultPrices, estimate = estimateTokens, now = () => performance.now() } = options
  const recording = view.toArray()
  const count = remembering(estimate)
  const retagged = foldPages(notes)
  const kindOf = (position: number): PageKind => retagged.get(position) ?? (view.pages.at(position) as PageKind)
  const answers = answersIn(recording)

  const faults = { bootstrapMissing: 0, pinnedMissing: 0, pairingViolated: 0, overBudget: 0, silentLoss: 0, refetch: 0 }
  const times: number[] = []
  let [unfit, tokens, stable, cost, epochs, repeats, rereads] = [0, 0, 0, 0, 0, 0, 0]
  let previous: DerivedContext | undefined
  for (const [position, message] of recording.entries()) {
    if (message.role !== 'assistant') continue
    const seen = view.slice(0, position)
    const asked = 'evaluationOnly' in policy ? policy.at(recording, position) : policy
    const from = now()
    const derived = deriveContext(seen, { ...options, policy: asked, notes, prices, previous })
    times.push((now() - from) * 1000)
    if (isLeft(derived)) {
      unfit += 1
      continue
    }
    const context = derived.right
    tokens += context.tokens
    stable += context.stableTokens
    cost += context.cost
    if (previous !== undefined && context.stablePrefix < previous.messages.length) epochs += 1
    previous = context

    const shown = shownIn(context, seen)
    const found = faultsOf(context, shown, kindOf, count)
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
  return {
    policy: policy.name,
    budget: previous?.budget ?? usableTokens(options.budget),
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
  }
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
const quantile = (sorted: readonly number[], share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
