/** The cost of a policy's contexts, with an expiring cache and in US dollars. */
import { estimateTokens, type DerivedContext, type ModelPrices, type Prices } from 'indelible/context'
import { defaultPrices, ratesAt, unitsOf } from 'indelible/internal/prices'
import type { Message } from 'indelible/message'
import { sourceTimeOf } from '@indelible/transcripts'

/**
 * How long a provider's cache lasts after a call, in milliseconds: Anthropic's documented value and OpenAI's minimum.
 *
 * Source  platform.claude.com, build-with-claude/prompt-caching, as quoted by others on 2026-11-22
 */
const cacheLifetime = 300_000

export interface CallCosts {
  /** In tokens of uncached input. */
  readonly cost: number
  /** If `model` is given: for the input sent and the recorded answers. */
  readonly dollars?: { readonly input: number; readonly output: number }
  /** The number of calls after the cache had expired. All their input counts as uncached. */
  readonly expired: number
}

/**
 * Adds up costs: pass `add` to a replay's `onAnswer`, and `prices` to its option of that name.
 *
 * @param model the list prices of a model, for `dollars`
 */
export const costCounter = (
  model?: ModelPrices,
): {
  readonly prices: Prices
  readonly add: (answer: Message, position: number, context: DerivedContext | undefined) => void
  readonly sum: () => CallCosts
} => {
  const prices = model === undefined ? defaultPrices : unitsOf(model)
  const dollars = { input: 0, output: 0 }
  let [cost, expired] = [0, 0]
  let last: number | undefined
  return {
    prices,
    add: (answer, _position, context) => {
      const time = sourceTimeOf(answer)
      const isExpired = time !== undefined && last !== undefined && time - last > cacheLifetime
      last = time ?? last
      if (isExpired) expired += 1
      if (context === undefined) return
      const { tokens, stableTokens } = context
      cost += isExpired ? tokens * prices.fresh : context.cost
      if (model !== undefined) {
        const cached = isExpired ? 0 : stableTokens
        const { cacheRead, cacheWrite, output } = ratesAt(model, tokens)
        dollars.input += (cached * cacheRead + (tokens - cached) * cacheWrite) / 1e6
        dollars.output += (estimateTokens(answer) * output) / 1e6
      }
    },
    sum: () => ({ cost, ...(model !== undefined && { dollars }), expired }),
  }
}
