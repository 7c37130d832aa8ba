/**
 * A replay against what a provider counted: the counts that recordings keep in `meta`, and how far the replay's own figures
 * are from them. Use it with an unlimited budget.
 */
import type { DerivedContext } from 'indelible/context'
import type { Message } from 'indelible/message'

/** The tokens that a provider counted for one call. */
export interface ProviderCount {
  /** The input tokens that the provider counted. */
  readonly input: number
  /** The input tokens that it read from its cache. */
  readonly cached: number
}

/** A replay compared with the counts of the provider, for the calls that have one. */
export interface AgainstProvider {
  /** The number of calls compared. */
  readonly calls: number
  /** The share of the input that the provider's cache served. */
  readonly served: number
  /** Calls after the first for which the cache served nothing; recordings don't say why. */
  readonly misses: number
  /** The share that the cache served for all other calls. */
  readonly servedElse: number
  /**
   * The share that a cache could hold by this replay, counting the tokens outside the record (tools, system prompt).
   */
  readonly cacheable: number
  /** The growth of the input from call to call by this replay, per token of growth by the provider's count. */
  readonly growth: number
}

/** Compares the contexts of a replay with counts: `add` is for its `onAnswer`. `sum` is undefined without counts. */
export const providerComparison = (
  countOf: (answer: Message, position: number) => ProviderCount | undefined,
): {
  readonly add: (answer: Message, position: number, context: DerivedContext | undefined) => void
  readonly sum: () => AgainstProvider | undefined
} => {
  const counts: Compared[] = []
  return {
    add: (answer, position, context) => {
      if (context === undefined) return
      const theirs = countOf(answer, position)
      if (theirs !== undefined && theirs.input > 0)
        counts.push({ theirs, tokens: context.tokens, stable: context.stableTokens })
    },
    sum: () => (counts.length === 0 ? undefined : against(counts)),
  }
}

/**
 * The tokens that a provider counted for a call, from the `meta` of the answer: of a pi session, or of an Anthropic
 * response as Claude Code keeps it.
 *
 * @param answer a message of the assistant
 * @returns the count; undefined if `meta` has none
 */
export const countedIn = (answer: Message): ProviderCount | undefined => {
  const pi = usageIn(answer, 'pi-session')
  if (pi !== undefined) return count([pi['input'], pi['cacheWrite']], pi['cacheRead'])
  const anthropic = usageIn(answer, 'anthropic-response')
  if (anthropic === undefined) return undefined
  return count(
    [anthropic['input_tokens'], anthropic['cache_creation_input_tokens']],
    anthropic['cache_read_input_tokens'],
  )
}

interface Compared {
  readonly theirs: ProviderCount
  readonly tokens: number
  readonly stable: number
}

const against = (counts: readonly Compared[]): AgainstProvider => {
  const [first] = counts
  const beside = first === undefined ? 0 : Math.max(0, first.theirs.input - first.tokens)
  const sums = { input: 0, cached: 0, misses: 0, missed: 0, tokens: 0, stable: 0, grown: 0, grows: 0 }
  for (const [index, { theirs, tokens, stable }] of counts.entries()) {
    sums.input += theirs.input
    sums.cached += theirs.cached
    if (index > 0 && theirs.cached === 0) {
      sums.misses += 1
      sums.missed += theirs.input
    }
    sums.tokens += tokens + beside
    sums.stable += stable === 0 ? 0 : stable + beside
    const before = counts[index - 1]
    if (before === undefined || theirs.input <= before.theirs.input || tokens <= before.tokens) continue
    sums.grown += theirs.input - before.theirs.input
    sums.grows += tokens - before.tokens
  }
  return {
    calls: counts.length,
    served: sums.cached / sums.input,
    misses: sums.misses,
    servedElse: sums.input === sums.missed ? 0 : sums.cached / (sums.input - sums.missed),
    cacheable: sums.stable / sums.tokens,
    growth: sums.grown === 0 ? 1 : sums.grows / sums.grown,
  }
}

type Fields = { readonly [field: string]: unknown }

const usageIn = ({ meta }: Message, name: string): Fields | undefined => {
  const found: unknown = meta?.[name]
  if (typeof found !== 'object' || found === null) return undefined
  const { usage } = found as { readonly usage?: unknown }
  return typeof usage === 'object' && usage !== null ? (usage as Fields) : undefined
}

const count = (fresh: readonly unknown[], served: unknown): ProviderCount => {
  const cached = numberOf(served)
  return Object.freeze({ input: fresh.reduce<number>((sum, value) => sum + numberOf(value), cached), cached })
}

const numberOf = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? value : 0)
