/** The cost of a policy's contexts, with an expiring cache and in US dollars. */
import { estimateTokens, type DerivedContext, type ModelPrices, type Prices } from 'indelible/context'
import { defaultPrices, ratesAt, unitsOf } from 'indelible/internal/prices'
import type { Message } from 'indelible/message'

/** A provider's prices and cache. */
export interface CostOptions {
  /** The list prices of a model, for `dollars`. */
  readonly model?: ModelPrices | undefined
  /** The time of an answer, in milliseconds. Default: `timeIn`. */
  readonly timeOf?: (answer: Message, position: number) => number | undefined
  /**
   * How long the provider's cache lasts after a call, in milliseconds. Default: 300,000,
   * Anthropic's documented value and OpenAI's minimum.
   *
   * Source  platform.claude.com, build-with-claude/prompt-caching, as quoted by others on 2026-11-22
   */
  readonly cacheLifetime?: number
  /** The tokens of tools and system prompt, added to each context. Default: 0. */
  readonly reserved?: number
}

export interface CallCosts {
  /** In tokens of uncached input. */
  readonly cost: number
  /** If `model` is given: for the input sent and the recorded answers. */
  readonly dollars?: { readonly input: number; readonly output: number }
  /** The number of calls after the cache had expired. All their input counts as uncached. */
  readonly expired: number
}

/** Adds up costs: pass `add` to a replay's `onAnswer`, and `prices` to its option of that name. */
export const costCounter = (
  options: CostOptions = {},
): {
  readonly prices: Prices
  readonly add: (answer: Message, position: number, context: DerivedContext | undefined) => void
  readonly sum: () => CallCosts
} => {
  const { model, timeOf = timeIn, cacheLifetime = 300_000, reserved = 0 } = options
  const prices = model === undefined ? defaultPrices : unitsOf(model)
  const dollars = { input: 0, output: 0 }
  let [cost, expired, isFirst] = [0, 0, true]
  let last: number | undefined
  return {
    prices,
    add: (answer, position, context) => {
      const time = timeOf(answer, position)
      const isExpired = time !== undefined && last !== undefined && time - last > cacheLifetime
      last = time ?? last
      if (isExpired) expired += 1
      if (context === undefined) return
      const { tokens, stableTokens } = context
      cost += isExpired ? tokens * prices.fresh : context.cost
      if (model !== undefined) {
        const cached = isExpired ? 0 : stableTokens + (isFirst ? 0 : reserved)
        const { cacheRead, cacheWrite, output } = ratesAt(model, tokens + reserved)
        dollars.input += (cached * cacheRead + (tokens + reserved - cached) * cacheWrite) / 1e6
        dollars.output += (estimateTokens(answer) * output) / 1e6
      }
      isFirst = false
    },
    sum: () => ({ cost, ...(model !== undefined && { dollars }), expired }),
  }
}

/**
 * When a message was written, from its `meta` in sessions of pi, Claude Code or Codex.
 *
 * @returns milliseconds since 1970; undefined if `meta` has no time
 */
export const timeIn = ({ meta }: Message): number | undefined => {
  for (const name of ['pi-session', 'claude-code', 'codex']) {
    const found: unknown = meta?.[name]
    const time =
      typeof found === 'object' && found !== null ? (found as { readonly timestamp?: unknown }).timestamp : undefined
    const at = typeof time === 'string' ? Date.parse(time) : time
    if (typeof at === 'number' && Number.isFinite(at)) return at
  }
  return undefined
}
