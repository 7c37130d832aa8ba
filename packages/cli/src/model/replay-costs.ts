/** The cost of a replay's contexts, with an expiring cache, and in US dollars. */
import { estimateTokens, type DerivedContext, type ModelPrices, type Prices } from 'indelible/context'
import { defaultPrices, ratesAt, unitsOf } from 'indelible/context/kit'
import type { Message } from 'indelible/message'

/** The prices and the cache of a provider. */
export interface CostOptions {
  /** The list prices of a model. With them there are `dollars`. */
  readonly model?: ModelPrices | undefined
  /** The time of an answer, in milliseconds. Default: `timeIn`. */
  readonly timeOf?: (answer: Message, position: number) => number | undefined
  /**
   * How long the cache of the provider lasts after a call, in milliseconds. Default: 300,000, what Anthropic documents and the
   * least that OpenAI does.
   *
   * Source  platform.claude.com, build-with-claude/prompt-caching, as others quoted it on 2026-11-22
   */
  readonly cacheLifetime?: number
  /** Tokens of tools and system prompt, which are paid for beside the context. Default: 0. */
  readonly reserved?: number
}

/** The costs of a replay. */
export interface ReplayCosts {
  /** In tokens of plain input. */
  readonly cost: number
  /** With a `model`: the input that was sent and the recorded answers. */
  readonly dollars?: { readonly input: number; readonly output: number }
  /** Calls that came after the cache had expired. All of their input counts as not cached. */
  readonly expired: number
}

/** Adds up costs: `add` is for `onAnswer` of a replay, and `prices` for its option of that name. */
export const costCounter = (
  options: CostOptions = {},
): {
  readonly prices: Prices
  readonly add: (answer: Message, position: number, context: DerivedContext | undefined) => void
  readonly sum: () => ReplayCosts
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
 * When a message was written, from its `meta`: of a session of pi, Claude Code or Codex.
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
