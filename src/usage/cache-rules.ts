/** The published rules of the providers' prompt caches. */

/** How a provider caches the beginning of requests. */
export interface CacheRules {
  /** Milliseconds after the last request that a prefix stays cached; absent where nothing is published. */
  readonly lifetime?: number
  /** The lifetime of a prefix that was written to be kept for an hour. */
  readonly longLifetime?: number
  /** Requests with fewer tokens are not cached. */
  readonly fewest?: number
  /** The most tokens at the end of a cached prefix that fill no block; absent where the counts of written tokens say it. */
  readonly block?: number
}

const minute = 60_000

/**
 * The rules for a model, by its name.
 *
 * Source  Anthropic: platform.claude.com/docs/en/build-with-claude/prompt-caching (2026-09-28): 5 minutes or 1 hour, from the start of
 *         the last request. OpenAI: developers.openai.com/api/docs/guides/prompt-caching (2026-11-29): from 1,024 tokens, in blocks of
 *         128, usually cleared after 5 to 10 minutes without use. Gemini: ai.google.dev/gemini-api/docs/caching (2026-07-07): from 2,048
 *         or 4,096 tokens; no lifetime of implicit caches
 */
export const cacheRulesOf = (model: string): CacheRules => {
  const name = model.toLowerCase()
  if (name.includes('claude')) return anthropic
  if (/(?:^|[/.])(?:gpt|chatgpt|codex|o\d)/.test(name)) return openai
  return name.includes('gemini') ? gemini : unpublished
}

const anthropic: CacheRules = { lifetime: 5 * minute, longLifetime: 60 * minute }
// One block may be missing: some calls read one block less than the prefix has.
const openai: CacheRules = { lifetime: 10 * minute, fewest: 1024, block: 256 }
const gemini: CacheRules = { fewest: 2048, block: 256 }
const unpublished: CacheRules = { block: 256 }
