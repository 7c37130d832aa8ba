/** The cost of a run's answers. */
import { pricesOf } from '../../prices/index.ts'
import { callDollars, type ModelRates } from '../../prices/internal.ts'
import { amount } from '../../task/index.ts'
import type { Limits } from './limits.ts'
import type { Model } from '../model/model.ts'
import type { ModelResponse } from '../model/response.ts'

/** The cost of an answer in US dollars; undefined if the price is unknown. */
export type DollarsOf = (answer: ModelResponse) => number | undefined

/**
 * Calculates costs by the given prices, or by the table: for the model that answered, or else for the one requested.
 *
 * Throws  TypeError for an invalid price, or if dollars are limited and no price is known
 */
export const dollarsBy = (rates: ModelRates | undefined, { name }: Model, { maxDollars }: Limits): DollarsOf => {
  const chosen = rates === undefined ? pricesOf(name) : checkRates(rates)
  if (chosen === undefined && maxDollars !== Infinity)
    throw new TypeError(`limits.maxDollars needs the prices of ${name}, which are not in modelPrices; pass \`prices\``)
  return ({ usage, model }) => {
    const isOther = rates === undefined && model !== undefined && model !== name
    const prices = isOther ? (pricesOf(model) ?? chosen) : chosen
    return prices && callDollars(prices, usage)
  }
}

const checkRates = (prices: ModelRates): ModelRates => {
  const expected = 'US dollars per million tokens'
  for (const rate of ['input', 'output', 'cacheRead', 'cacheWrite'] as const) {
    amount(`prices.${rate}`, prices[rate], { unit: expected })
    if (prices.long !== undefined) amount(`prices.long.${rate}`, prices.long[rate], { unit: expected })
  }
  if (prices.long !== undefined) amount('prices.long.above', prices.long.above, { unit: 'tokens' })
  return prices
}
