/** Policies beside each other: what each sends and what it costs, call by call. */
import {
  estimateTokens,
  modelPrices,
  pricesOf,
  type DerivedContext,
  type ModelPrices,
  type Policy,
} from 'indelible/context'
import { callDollars } from 'indelible/context/kit'
import type { ModelCall } from './calls.ts'
import type { SessionRecord } from './record.ts'
import { derive, policies } from './saw-context.ts'

/** One policy over all calls. */
export interface Series {
  readonly policy: string
  /** Tokens of each call; null where the budget was too small. */
  readonly tokens: readonly (number | null)[]
  /** The cost up to each call, in tokens of plain input. */
  readonly cost: readonly (number | null)[]
  /** Of the tokens of each call: those of the cached prefix. */
  readonly stable: readonly number[]
  /** The share of all tokens that a cache could hold. */
  readonly cached: number
  readonly epochs: number
}

const longestPiece = 12 // milliseconds

/** Derive every call with every policy, between two frames. Gives each policy when it is done. */
export async function* compared(
  record: SessionRecord,
  calls: readonly ModelCall[],
  budget: number,
  gone: AbortSignal,
  progress: (share: number) => void,
): AsyncGenerator<Series> {
  let since = performance.now()
  let done = 0
  for (const policy of policies) {
    const series = { tokens: [] as (number | null)[], cost: [] as (number | null)[], stable: [] as number[] }
    let sum = { tokens: 0, stable: 0, cost: 0, epochs: 0 }
    let previous: DerivedContext | undefined
    for (const call of calls) {
      if (performance.now() - since > longestPiece) {
        progress(done / (calls.length * policies.length))
        await new Promise((resolve) => setTimeout(resolve))
        if (gone.aborted) return
        since = performance.now()
      }
      done += 1
      const derived: DerivedContext | string = derive(record, call, policy as Policy, budget, previous)
      if (typeof derived === 'string') {
        series.tokens.push(null)
        series.cost.push(null)
        series.stable.push(0)
        continue
      }
      sum = {
        tokens: sum.tokens + derived.tokens,
        stable: sum.stable + derived.stableTokens,
        cost: sum.cost + derived.cost,
        epochs: derived.epoch,
      }
      series.tokens.push(derived.tokens)
      series.cost.push(sum.cost)
      series.stable.push(derived.stableTokens)
      previous = derived
    }
    yield { policy: policy.name, ...series, cached: sum.tokens === 0 ? 0 : sum.stable / sum.tokens, epochs: sum.epochs }
  }
}

/** The US dollars up to each call: of its input under a policy, and of the answer that was recorded. */
export const dollarsSoFar = (
  record: SessionRecord,
  calls: readonly ModelCall[],
  { tokens, stable }: Series,
  prices: ModelPrices,
): readonly (number | null)[] => {
  let sum = 0
  return tokens.map((sent, index) => {
    const { answer, receipt } = calls[index] as ModelCall
    if (sent === null) return null
    const message = record.entries[answer]?.message
    const output = receipt?.note.usage?.output ?? (message === undefined ? 0 : estimateTokens(message))
    const cacheRead = stable[index] ?? 0
    sum += callDollars(prices, { input: sent, cacheRead, cacheWrite: sent - cacheRead, output })
    return sum
  })
}

/** A model whose prices are known, and how many calls of the record it answered. */
export interface PricedModel {
  readonly name: string
  readonly calls: number
}

/** The models of the record by its receipts, or by the file that it was imported from, then all others with a price. */
export const pricedModels = (record: SessionRecord, calls: readonly ModelCall[]): readonly PricedModel[] => {
  const counts = new Map<string, number>()
  for (const { receipt } of calls)
    if (receipt !== undefined) counts.set(receipt.note.model, (counts.get(receipt.note.model) ?? 0) + 1)
  const { from } = record.info.value.metadata as { readonly from?: { readonly models?: unknown } }
  if (counts.size === 0 && Array.isArray(from?.models))
    for (const name of from.models) if (typeof name === 'string') counts.set(name, 0)
  const own = [...counts].filter(([name]) => pricesOf(name) !== undefined).toSorted(([, a], [, b]) => b - a)
  const others = Object.keys(modelPrices).filter((name) => !counts.has(name))
  return [...own, ...others.map((name) => [name, -1] as const)].map(([name, count]) => ({ name, calls: count }))
}
