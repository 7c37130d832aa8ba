/**
 * Model prices, so that a replay can report costs in dollars. Each list price has the page and the
 * day it was read. Pass your own prices if yours differ.
 */
import { describe } from '../json/index.ts'
import type { Usage } from '../notes/internal.ts'
import { memoizeText } from '../words/internal.ts'

/** Prices per token, in tokens of plain input. */
export interface Prices {
  /** Tokens in the prefix shared with the last request. */
  readonly cached: number
  /** All other tokens. */
  readonly fresh: number
}

/** Cached tokens at 0.1 and others at 1.25 times the price of plain input. */
export const defaultPrices: Prices = Object.freeze({ cached: 0.1, fresh: 1.25 })

/** US dollars per million tokens. */
export interface Rates {
  /** Uncached input. */
  readonly input: number
  /** Output. */
  readonly output: number
  /** Input that the provider read from its cache. */
  readonly cacheRead: number
  /**
   * Input that the provider writes to its cache, kept for five minutes if there is a choice. The
   * plain input price if writing is free.
   */
  readonly cacheWrite: number
  /** Input that it writes to keep for an hour. Default: twice the plain input price, as all models of Claude have it. */
  readonly cacheWriteHour?: number
}

/** A model's rates, with separate rates for long requests. */
export interface ModelRates extends Rates {
  /** The rates of a request with more than `above` input tokens. They apply to all of its tokens. */
  readonly long?: Rates & { readonly above: number }
  /** The rates before a day, in ISO 8601 and UTC. */
  readonly former?: Rates & { readonly until: string }
}

/** List prices of a model, in US dollars per million tokens, with their source. */
export interface ModelPrices extends ModelRates {
  /** The page with the prices. */
  readonly source: string
  /** The day the page was read, as an ISO 8601 date. */
  readonly read: string
}

/**
 * The list prices of a model. Dated and preview names match the base name: `claude-opus-4-5-20251101` has the prices
 * of `claude-opus-4-5`. So do the names of other hosts: `anthropic/claude-opus-4.5`, `us.anthropic.claude-opus-4-5-v1:0`,
 * `claude-opus-4-5@20251101`, `claude-opus-4-5[1m]`. A way of serving it in parentheses changes them:
 * `claude-opus-5 (fast)`, `gpt-5 (batch)`.
 *
 * @returns the prices; undefined if the model, or that way of serving it, is not in the table
 */
export const pricesOf = (model: string): ModelPrices | undefined => {
  if (typeof model !== 'string') throw new TypeError(`pricesOf expects the name of a model, found ${describe(model)}`)
  return findPrices(model).prices
}

const findPrices = memoizeText((model): { readonly prices?: ModelPrices } => {
  const [, served = '', tier = ''] = /^(.*?)(?: \((\w+)\))?$/s.exec(model.toLowerCase()) ?? []
  const isFast = tier === 'fast' || /-fast(?:-\d+)?$/.test(served)
  const known = listed(plainName(served).replace(/-fast(?=-\d|$)/, ''))
  const prices = known === undefined ? undefined : modelPrices[known]
  const factor = isFast ? (fastModels.has(known ?? '') ? 2 : undefined) : tiers.get(tier)
  if (prices === undefined || factor === undefined) return {}
  return { prices: factor === 1 ? prices : timesOf(prices, factor) }
})

/** The name in the table. */
const listed = (name: string): string | undefined => {
  for (let end = name.length; end > 0; end = name.lastIndexOf('-', end - 1)) {
    const known = name.slice(0, end)
    if (Object.hasOwn(modelPrices, known) && /^(?:-(?:2|0|preview|latest).*)?$/.test(name.slice(end))) return known
  }
  return undefined
}

/** A name without what Bedrock, Vertex AI, OpenRouter and clients add to it. A free variant has no known price. */
const plainName = (model: string): string => {
  if (model.endsWith(':free')) return ''
  const name = model
    .slice(model.lastIndexOf('/') + 1)
    .replace(/\[1m\]$/, '')
    .replace(/^(?:(?:[a-z]{2,6}|us-gov)\.)?(?:anthropic|openai|google|xai|x-ai)\./, '')
    .replace(/-v\d+(?::[\w.]+)*$|:[a-z]+$/, '')
    .replace('@', '-')
  return name.startsWith('claude-') ? name.replace(/(?<=-\d)\.(?=\d)/, '-') : name
}

/**
 * The share of the list price, by the way of serving.
 *
 * Source  Anthropic, batch processing; OpenAI, batch and flex processing; Gemini API, batch mode (2026-11)
 */
const tiers: ReadonlyMap<string, number> = new Map([
  ['', 1],
  ['standard', 1],
  ['default', 1],
  ['batch', 0.5],
  ['flex', 0.5],
])

/** Models whose fast mode costs twice as much. Source: openrouter.ai/anthropic/claude-opus-5-fast (2026-11-28) */
const fastModels: ReadonlySet<string> = new Set(['claude-opus-5', 'claude-opus-4-8'])

const timesOf = (prices: ModelPrices, factor: number): ModelPrices => {
  const times = ({ input, output, cacheRead, cacheWrite }: Rates): Rates =>
    rates(input * factor, output * factor, cacheRead * factor, cacheWrite * factor)
  const { long, former, source, read } = prices
  return Object.freeze({
    ...times(prices),
    ...(former !== undefined && { former: Object.freeze({ until: former.until, ...times(former) }) }),
    ...(long !== undefined && { long: Object.freeze({ above: long.above, ...times(long) }) }),
    source,
    read,
  })
}

/** Prices relative to plain input: what one cached and one other token cost, in tokens of plain input. */
export const unitsOf = ({ input, cacheRead, cacheWrite }: Rates): Prices =>
  Object.freeze({ cached: cacheRead / input, fresh: cacheWrite / input })

/**
 * The price of one call, from the provider's token counts.
 *
 * @param day the day of the call, in ISO 8601. Default: today
 * @returns US dollars
 */
export const callDollars = (prices: ModelRates, usage: Usage, day?: string): number => {
  const { input, output, cacheRead = 0, cacheWrite = 0, cacheWriteHour = 0 } = usage
  const rates = ratesAt(prices, input, day)
  const plain = Math.max(0, input - cacheRead - cacheWrite)
  const hour = Math.min(cacheWrite, cacheWriteHour)
  const written = (cacheWrite - hour) * rates.cacheWrite + hour * (rates.cacheWriteHour ?? 2 * rates.input)
  return (plain * rates.input + cacheRead * rates.cacheRead + written + output * rates.output) / 1e6
}

/**
 * The list price of one or more calls, from the provider's token counts. A sum over several calls
 * does not show how long each request was, so it uses the rates for short requests.
 *
 * @param calls the number of calls in `usage`. Default: 1
 * @param day their day, in ISO 8601. Default: today
 * @returns US dollars; undefined if there are tokens but no known price for the model
 */
export const usageDollars = (
  model: string | undefined,
  usage: Usage,
  calls: number = 1,
  day?: string,
): number | undefined => {
  if (usage.input + usage.output === 0) return 0
  const prices = model === undefined ? undefined : pricesOf(model)
  if (prices === undefined) return undefined
  const { long: _, ...short } = prices
  return callDollars(calls === 1 ? prices : short, usage, day)
}

/**
 * The rates that apply to a request of this size.
 *
 * @param day its day, in ISO 8601. Default: today
 */
export const ratesAt = (prices: ModelRates, inputTokens: number, day?: string): Rates => {
  const { long, former } = prices
  if (former !== undefined && (day ?? new Date().toISOString()) < former.until) return former
  return long !== undefined && inputTokens > long.above ? long : prices
}

const rates = (input: number, output: number, cacheRead: number, cacheWrite = input): Rates => ({
  input,
  output,
  cacheRead,
  cacheWrite,
})

/** Makes a price entry with its source page and the day it was read. */
const pricesFrom =
  (source: string, read = '2026-11-21') =>
  (base: Rates, long?: ModelPrices['long'], former?: ModelPrices['former']): ModelPrices =>
    Object.freeze({
      ...base,
      ...(long && { long: Object.freeze(long) }),
      ...(former && { former: Object.freeze(former) }),
      source,
      read,
    })

const pricesOfClaude = (name: string) => pricesFrom(`https://platform.claude.com/docs/en/models/${name}/overview`)

/** GitHub's table of provider prices. */
const pricesFromTable = pricesFrom(
  'https://github.com/github/docs/blob/024f6b0f8c266054134f13dd7d122d8b80d25315/data/tables/copilot/models-and-pricing.yml',
)

/** Models that are no longer in that table. */
const retiredModels = pricesFrom(
  'https://raw.githubusercontent.com/github/docs/main/data/tables/copilot/models-and-pricing.yml',
)

/** Google's prices, as quoted by a third-party page. */
const pricesOfGoogle = pricesFrom('https://deploybase.ai/articles/gemini-api-pricing', '2026-11-22')

/** A list of the providers' prices by somebody else. */
const pricesOfTokenMeter = pricesFrom('https://github.com/iyulab/TokenMeter/releases/tag/v0.17.0', '2026-11-29')

/** List prices by model name. */
export const modelPrices: Readonly<Record<string, ModelPrices>> = Object.freeze({
  'claude-opus-5-5': pricesOfClaude('opus-5-5')(rates(4, 20, 0.2, 5)),
  'claude-opus-5': pricesOfClaude('opus-5')(rates(5, 25, 0.5, 6.25)),
  'claude-opus-4-8': pricesFromTable(rates(5, 25, 0.5, 6.25)),
  'claude-opus-4-7': pricesFromTable(rates(5, 25, 0.5, 6.25)),
  'claude-opus-4-6': pricesFromTable(rates(5, 25, 0.5, 6.25)),
  'claude-opus-4-5': pricesFromTable(rates(5, 25, 0.5, 6.25)),
  // The provider's page listed $0.20 per cached token until 7 October 2026.
  'claude-sonnet-5-5': pricesFrom(
    'https://github.com/kurofune/claudit/releases/tag/v1.9.2',
    '2026-10-24',
  )(rates(2, 10, 0.1, 2.5)),
  'claude-sonnet-5': pricesOfClaude('sonnet-5')(rates(2, 10, 0.2, 2.5)),
  'claude-sonnet-4-6': pricesFromTable(rates(3, 15, 0.3, 3.75)),
  'claude-sonnet-4-5': pricesFromTable(rates(3, 15, 0.3, 3.75)),
  'claude-sonnet-4': pricesFromTable(rates(3, 15, 0.3, 3.75)),
  'claude-fable-5': pricesFromTable(rates(10, 50, 1, 12.5)),
  'claude-haiku-5-5': pricesOfClaude('haiku-5-5')(rates(0.1, 0.5, 0.01, 0.125), {
    above: 100_000,
    ...rates(0.5, 2.5, 0.05, 0.625),
  }),
  'claude-haiku-4-5': pricesFromTable(rates(1, 5, 0.1, 1.25)),
  'gpt-6.2-sol': pricesFrom('https://developers.openai.com/api/docs/models/gpt-6.2-sol')(rates(2, 10, 0.1, 2.5), {
    above: 272_000,
    ...rates(4, 15, 0.2, 5),
  }),
  'gpt-6.2-astra': pricesOfTokenMeter(rates(8, 40, 0.4, 10), { above: 272_000, ...rates(16, 60, 0.8, 20) }),
  'gpt-5.6-luna': pricesFromTable(rates(0.2, 1.2, 0.02, 0.25), { above: 200_000, ...rates(0.4, 1.8, 0.04, 0.5) }),
  'gpt-5.6-sol': pricesFromTable(rates(5, 30, 0.5, 6.25), { above: 272_000, ...rates(10, 45, 1, 12.5) }),
  'gpt-5.6-terra': pricesFromTable(rates(2, 12, 0.2, 2.5), { above: 272_000, ...rates(4, 18, 0.4, 5) }),
  'gpt-5.5': pricesFromTable(rates(5, 30, 0.5), { above: 272_000, ...rates(10, 45, 1) }),
  'gpt-5.4': pricesFromTable(rates(2.5, 15, 0.25), { above: 272_000, ...rates(5, 22.5, 0.5) }),
  'gpt-5.4-mini': pricesFromTable(rates(0.75, 4.5, 0.075)),
  'gpt-5.4-nano': pricesFromTable(rates(0.2, 1.25, 0.02)),
  'gpt-5.3-codex': pricesFromTable(rates(1.75, 14, 0.175)),
  'gpt-5.2-codex': retiredModels(rates(1.75, 14, 0.175)),
  'gpt-5.2': retiredModels(rates(1.75, 14, 0.175)),
  // As quoted by a third-party page; OpenAI's page of gpt-5-codex has the same figures.
  'gpt-5': pricesFrom('https://aipromptshub.co/model/gpt-5', '2026-11-27')(rates(1.25, 10, 0.125)),
  'gpt-5-codex': pricesFrom(
    'https://developers.openai.com/api/docs/models/gpt-5-codex',
    '2026-11-27',
  )(rates(1.25, 10, 0.125)),
  'gpt-5-mini': pricesFromTable(rates(0.25, 2, 0.025)),
  o3: pricesFrom('https://modelpedia.dev/openai/o3-2025-04-16', '2026-11-29')(rates(2, 8, 0.5)),
  'gemini-4-argon': pricesFrom('https://github.com/BerriAI/litellm/discussions/46238', '2026-11-29')(
    rates(4, 20, 0.2),
    undefined,
    { until: '2026-12-01', ...rates(2, 10, 0.1) },
  ),
  'gemini-4-neon': pricesOfTokenMeter(rates(3, 15, 0.15)),
  'gemini-4-hydrogen': pricesOfTokenMeter(rates(1.5, 7.5, 0.075)),
  'gemini-3.1-pro': pricesFromTable(rates(2, 12, 0.2), { above: 200_000, ...rates(4, 18, 0.4) }),
  'gemini-3.5-flash': pricesFromTable(rates(1.5, 9, 0.15)),
  // Shut down on 9 March 2026; its successor 3.1 has the same prices.
  'gemini-3-pro': pricesFrom('https://www.aifreeapi.com/en/posts/gemini-3-api-pricing-quota', '2026-11-29')(
    rates(2, 12, 0.2),
    { above: 200_000, ...rates(4, 18, 0.4) },
  ),
  'gemini-3-flash': pricesFrom(
    'https://factquire.com/models/google/gemini-3-flash-preview.json',
    '2026-11-29',
  )(rates(0.5, 3, 0.05)),
  'gemini-2.5-pro': pricesOfGoogle(rates(1.25, 10, 0.125), { above: 200_000, ...rates(2.5, 15, 0.25) }),
  'gemini-2.5-flash': pricesOfGoogle(rates(0.3, 2.5, 0.03)),
  'grok-4.6': pricesFromTable(rates(2, 6, 0.5), { above: 200_000, ...rates(4, 12, 1) }),
  'grok-4.5': pricesFromTable(rates(2, 6, 0.5), { above: 200_000, ...rates(4, 12, 1) }),
})
