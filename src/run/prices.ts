/** What the answers of a run cost. */
import { pricesOf, type ModelRates } from '../context/index.ts'
import { callDollars } from '../context/kit.ts'
import { amount } from '../task/index.ts'
import type { Limits } from './limits.ts'
import type { Model } from './model.ts'
import type { ModelResponse } from './response.ts'

/** What an answer costs, in US dollars; undefined where nobody knows its price. */
export type DollarsOf = (answer: ModelResponse) => number | undefined

/**
 * By the prices that are given, or else by the table: those of the model that answered, or of the one that was asked.
 *
 * Throws  TypeError, on a price that is none, or where money is limited and there is no price
 */
export const dollarsBy = (given: ModelRates | undefined, { name }: Model, { maxDollars }: Limits): DollarsOf => {
  const asked = given === undefined ? pricesOf(name) : checked(given)
  if (asked === undefined && maxDollars !== Infinity)
    throw new TypeError(`limits.maxDollars needs the prices of ${name}, which are not in modelPrices; pass \`prices\``)
  return ({ usage, model }) => {
    const isOther = given === undefined && model !== undefined && model !== name
    const prices = isOther ? (pricesOf(model) ?? asked) : asked
    return prices && callDollars(prices, usage)
  }
}

const checked = (prices: ModelRates): ModelRates => {
  const unit = 'US dollars for a million tokens'
  for (const rate of ['input', 'output', 'cacheRead', 'cacheWrite'] as const) {
    amount(`prices.${rate}`, prices[rate], { unit })
    if (prices.long !== undefined) amount(`prices.long.${rate}`, prices.long[rate], { unit })
  }
  if (prices.long !== undefined) amount('prices.long.above', prices.long.above, { unit: 'tokens' })
  return prices
}
