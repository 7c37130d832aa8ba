/** Policies beside each other: what each costs in money, call by call. */
import { estimateTokens, modelPrices, pricesOf, type ModelPrices } from 'indelible/context'
import { callDollars } from 'indelible/internal/prices'
import type { ModelCall } from '../../../src/calls/model-calls.ts'
import type { Series } from '../../../src/calls/derive-contexts.ts'
import type { SessionRecord } from '../data/record.ts'

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
