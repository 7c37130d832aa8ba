/** The published rules of the providers' prompt caches. */
import { memoizeText } from '../words/internal.ts'

/** How a provider caches the beginning of requests. */
export interface CacheRules {
  /** Milliseconds after the last request that a prefix stays cached; absent where nothing is published. */
  readonly lifetime?: number
  /** The lifetime before a day, given in milliseconds since 1970. */
  readonly former?: { readonly lifetime: number; readonly until: number }
  /** The lifetime of a prefix that was written to be kept for an hour. */
  readonly longLifetime?: number
  /** Requests with fewer tokens are not cached. */
  readonly fewest?: number
  /** The most tokens at the end of a cached prefix that fill no block; absent where the counts of written tokens say it. */
  readonly block?: number
}

const minute = 60_000
const hour = 60 * minute

/**
 * The rules for a model, by its name.
 *
 * Source  Anthropic: platform.claude.com/docs/en/build-with-claude/prompt-caching (2026-09-28): 5 minutes or 1 hour, from the start of
 *         the last request. OpenAI: developers.openai.com/api/docs/guides/prompt-caching and the reference of `prompt_cache_retention`
 *         and `prompt_cache_options.ttl` (2026-11-29): from 1,024 tokens, in blocks of 128. GPT-5.6 and later: at least 30 minutes;
 *         GPT-5.5: 24 hours; earlier ones: 24 hours since 2026-05-29, before that usually 5 to 10 minutes without use. Gemini:
 *         ai.google.dev/gemini-api/docs/caching (2026-05-07, 2026-07-07): from 2,048 tokens, Gemini 3 from 4,096, its Flash preview
 *         from 1,024; no lifetime of implicit caches
 */
export const cacheRulesOf: (model: string) => CacheRules = memoizeText((model) => {
  const name = model.toLowerCase()
  if (name.includes('claude')) return anthropic
  if (/(?:^|[/.])(?:gpt|chatgpt|codex|o\d)/.test(name)) return openaiRules(name)
  const gemini = /gemini-(\d+)(\S*)/.exec(name)
  if (gemini === null) return name.includes('gemini') ? { fewest: 2048, block } : unpublished
  return { fewest: Number(gemini[1]) < 3 ? 2048 : gemini[2]?.startsWith('-flash') === true ? 1024 : 4096, block }
})

// One block may be missing: some calls read one block less than the prefix has.
const block = 256
const anthropic: CacheRules = { lifetime: 5 * minute, longLifetime: hour }
const unpublished: CacheRules = { block }

const openaiRules = (name: string): CacheRules => {
  const [, major = 0, minor = 0] = (/gpt-(\d+)(?:\.(\d+))?/.exec(name) ?? []).map(Number)
  const version = major + (minor || 0) / 100
  const rules = { fewest: 1024, block }
  if (version >= 5.06) return { ...rules, lifetime: hour / 2 }
  const former = { lifetime: 10 * minute, until: Date.UTC(2026, 4, 29) }
  return { ...rules, lifetime: 24 * hour, ...(version < 5.05 && { former }) }
}
