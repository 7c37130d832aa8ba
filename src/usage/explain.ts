/** Splits the tokens of model calls into parts, each with its cause. The parts add up to the provider's counts. */
import { pricesOf } from '../prices/index.ts'
import { ratesAt, type ModelRates, type Rates } from '../prices/internal.ts'
import { ownFields } from '../json/index.ts'
import type { Usage } from '../notes/internal.ts'
import { cacheRulesOf, type CacheRules } from './cache-rules.ts'
import type { Evidence, UsageCall, UsageCause, UsagePart } from './call.ts'

/** A call with its parts. */
export interface ExplainedCall extends Omit<UsageCall, 'evidence' | 'seenIn'> {
  /** Its number among the calls of the session, from 1; of a sum, that of its first call. */
  readonly number: number
  /**
   * What changed in the request, as a recorder saw or the program wrote. Absent if the call before left nothing in the cache.
   */
  readonly change?: Pick<UsagePart, 'cause' | 'known' | 'because'>
  /** Milliseconds from the end of the last answer to this request; absent if not known. */
  readonly pause?: number
  /** How many tokens the last compaction or shortening took out of the requests of its chain; absent if there was none. */
  readonly shortenedBy?: number
  /** US dollars at list prices; absent if no price of the model is known, or nothing was counted. */
  readonly dollars?: number
  /** Empty if nothing was counted. */
  readonly parts: readonly UsagePart[]
}

/** The calls before, of one chain. */
interface Chain {
  last?: { readonly call: UsageCall; readonly counts: Counts }
  /** Whether tokens written to the cache are counted. */
  countsWrites: boolean
  /** Whether the last written prefix is kept for an hour. */
  isLong: boolean
  /** A change before a call without counts. */
  pending?: Evidence | undefined
  /** The tokens that the last compaction or shortening took out. */
  shortenedBy: number
}

/** Counts that can be true: whole, not negative, no more cached than sent. */
export type Counts = Required<Usage> & { readonly isCacheCounted: boolean; readonly areWritesCounted: boolean }

/** A part without its price. */
type Cause = Pick<UsagePart, 'cause' | 'known' | 'because' | 'ruledOut'>

/**
 * Explains what calls paid for, one after the other: with p the call before in the same chain, the tokens that p sent and that were
 * not read from the cache were sent again; the others are new.
 */
export class UsageExplainer {
  readonly #chains = new Map<string, Chain>()
  #number = 1

  /** Explain the next call, in the order in which they were sent. Cost: O(1) */
  next(call: UsageCall): ExplainedCall {
    const { evidence, seenIn: _, ...fields } = call
    const name = call.chain ?? ''
    const chain: Chain = this.#chains.get(name) ?? { countsWrites: false, isLong: false, shortenedBy: 0 }
    this.#chains.set(name, chain)
    const number = this.#number
    this.#number += Math.max(1, call.calls ?? 1)
    if (call.usage === undefined) {
      chain.pending = evidence ?? chain.pending
      return { ...fields, number, ...changeOf(chain, evidence), parts: [] }
    }
    const counts = usedCounts(call.usage)
    const pause = pauseBefore(chain.last?.call, call)
    const rates = ratesOf(call, counts, pricesOf(call.model))
    const change = changeOf(chain, evidence, counts)
    const parts = priced(counts, rates, causesOf(chain, call, counts, cacheRulesOf(call.model)))
    if (call.calls === undefined) remember(chain, call, counts, parts)
    return {
      ...fields,
      number,
      ...change,
      ...(pause !== undefined && { pause }),
      ...(chain.shortenedBy > 0 && { shortenedBy: chain.shortenedBy }),
      ...(rates !== undefined && { dollars: parts.reduce((sum, { dollars = 0 }) => sum + dollars, 0) }),
      parts,
    }
  }
}

/** Explain all calls, in the order in which they were sent. Cost: O(calls) */
export const explainCalls = (calls: readonly UsageCall[]): readonly ExplainedCall[] => {
  const explainer = new UsageExplainer()
  return calls.map((call) => explainer.next(call))
}

/**
 * Where a call's cached prefix ended: what changed in its request, or a cause of most of its tokens. Undefined if it did not end, or
 * was never written.
 */
export const breakIn = ({ change, parts, usage }: ExplainedCall): ExplainedCall['change'] => {
  const other = parts.find(({ cause }) => cause === 'model')
  if (change !== undefined) return other ?? change
  return parts.find(
    ({ cause, known, tokens }) =>
      (known === 'likely' ? !notLost.has(cause) : losses.has(cause)) &&
      tokens >= leastShortening &&
      tokens * 2 > countOf(usage?.input),
  )
}

const losses: ReadonlySet<UsageCause> = new Set(['model', 'expired', 'missed', 'unknown'])
const notLost: ReadonlySet<UsageCause> = new Set(['ends', 'uncached'])

/** The causes of tokens that are paid again because the conversation became shorter. */
export const shortenings: ReadonlySet<UsageCause> = new Set(['compaction', 'shortened'])

/**
 * A change that is more than likely, unless nothing was cached that it could have ended. Programs rewrite their last message: that is
 * no change worth a word where almost all was read.
 */
const changeOf = ({ last }: Chain, evidence: Evidence | undefined, counts?: Counts): Pick<ExplainedCall, 'change'> => {
  if (evidence === undefined || evidence.known === 'likely') return {}
  const isEmpty = last?.counts.areWritesCounted === true && last.counts.cacheRead + last.counts.cacheWrite === 0
  const isSmall =
    evidence.message !== undefined &&
    counts !== undefined &&
    Math.min(last?.counts.input ?? 0, counts.input) - counts.cacheRead < leastShortening
  return isEmpty || isSmall ? {} : { change: causeOfEvidence(evidence) }
}

const countOf = (value: unknown, most = Number.MAX_SAFE_INTEGER): number =>
  typeof value === 'number' && Number.isSafeInteger(value) ? Math.min(most, Math.max(0, value)) : 0

/** Counts that can be true, of a call. */
export const usedCounts = (usage: Usage): Counts => {
  const { input, output, cacheRead, cacheWrite, cacheWriteHour } = ownFields(usage)
  const all = countOf(input)
  const read = countOf(cacheRead, all)
  const written = countOf(cacheWrite, all - read)
  return {
    input: all,
    output: countOf(output),
    cacheRead: read,
    cacheWrite: written,
    cacheWriteHour: countOf(cacheWriteHour, written),
    areWritesCounted: cacheWrite !== undefined,
    isCacheCounted: cacheRead !== undefined || cacheWrite !== undefined,
  }
}

/** The rates of a call; undefined without a known price. Where there are no tokens, none is needed. */
const ratesOf = (call: UsageCall, { input, output }: Counts, known: ModelRates | undefined): Rates | undefined => {
  const { calls = 1, isLong = false } = call
  const prices = input + output === 0 ? noRates : known
  const day = prices?.former === undefined ? undefined : dayOf(call)
  return prices && ratesAt(prices, isLong ? Infinity : calls === 1 ? input : 0, day)
}

/** The day of a call in ISO 8601; undefined if it is not known: then it has today's price. */
export const dayOf = ({ day, at }: Pick<UsageCall, 'day' | 'at'>): string | undefined =>
  day ?? (at === undefined || Math.abs(at) > latestTime ? undefined : new Date(at).toISOString().slice(0, 10))

/** The latest time that a date can have. */
const latestTime = 8.64e15

const noRates: ModelRates = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }

const beganOf = ({ began, at }: UsageCall): number | undefined => began ?? at

const pauseBefore = (last: UsageCall | undefined, call: UsageCall): number | undefined => {
  const [ended, began] = [last?.at, call.began]
  return ended === undefined || began === undefined ? undefined : Math.max(0, began - ended)
}

const remember = (chain: Chain, call: UsageCall, counts: Counts, parts: readonly UsagePart[]): void => {
  const { last } = chain
  const evidence = call.evidence ?? chain.pending
  const less = (last?.counts.input ?? 0) - counts.input
  const isShorter = evidence?.cause === 'compaction' || parts.some(({ cause }) => shortenings.has(cause))
  if (isShorter && less >= leastShortening) chain.shortenedBy = less
  else if (evidence?.cause === 'rewind') chain.shortenedBy = 0
  chain.last = { call, counts }
  chain.pending = undefined
  if (counts.cacheWrite === 0) return
  chain.countsWrites = true
  chain.isLong = counts.cacheWriteHour === counts.cacheWrite
}

/** The uncached input by cause, in the order in which it is sent. What is left is new. */
function* causesOf(
  chain: Chain,
  call: UsageCall,
  counts: Counts,
  rules: CacheRules,
): Generator<Cause & { readonly tokens: number }> {
  const { input, cacheRead, isCacheCounted } = counts
  const uncached = input - cacheRead
  if (call.calls !== undefined)
    return yield {
      cause: 'unknown',
      known: 'unknown',
      because: 'the file has only sums of its calls',
      tokens: uncached,
    }
  if (!isCacheCounted) return yield { cause: 'uncounted', known: 'reported', tokens: input }
  const { last } = chain
  if (last === undefined)
    return yield call.isAgent === true
      ? { cause: 'agent', known: 'reported', because: 'a sub-agent begins', tokens: uncached }
      : { cause: 'first', known: 'reported', because: 'the first call', tokens: uncached }
  const again = Math.max(0, Math.min(last.counts.input, input) - cacheRead)
  if (again === 0) return
  const left = leftOut(chain, last.counts, rules, again, baseOf(last.call.model) === baseOf(call.model))
  if (again > left.tokens) yield { ...causeOf(chain, last, call, counts, rules), tokens: again - left.tokens }
  yield left
}

/** What the call before did not leave in the cache, of the tokens that are sent again. */
const leftOut = (
  { countsWrites }: Chain,
  last: Counts,
  { fewest = 0, block }: CacheRules,
  again: number,
  isSameModel: boolean,
): Cause & { readonly tokens: number } => {
  const ends = { cause: 'ends', known: 'likely', because: 'the end of the cached prefix' } as const
  const isEmpty = last.isCacheCounted && last.cacheRead + last.cacheWrite === 0
  if (last.input < fewest)
    return { ...ends, because: `requests of fewer than ${fewest} tokens are not cached`, tokens: again }
  if (!isSameModel) return { ...ends, tokens: 0 }
  if (block === undefined || countsWrites) {
    if (!countsWrites && !isEmpty) return { ...ends, tokens: 0 }
    const tokens = Math.min(again, last.input - last.cacheRead - last.cacheWrite)
    return isEmpty
      ? { cause: 'uncached', known: 'reported', because: 'the call before wrote nothing to the cache', tokens }
      : { ...ends, known: 'reported', tokens }
  }
  return { ...ends, tokens: again < block ? again : 0 }
}

/** `5 minutes`, `26 hours`. */
const minutesText = (milliseconds: number): string => {
  const minutes = Math.floor(milliseconds / 60_000)
  return minutes < 120 ? `${minutes} minutes` : `${Math.floor(minutes / 60)} hours`
}

/** A name of at most 64 characters: it is shown in a sentence. */
const shortName = (name: string): string => (name.length > 64 ? `${name.slice(0, 63)}…` : name)

/** The model without the way of serving it, which has the same cache. */
const baseOf = (model: string): string => (model.endsWith(')') ? model.replace(/ \(\w+\)$/, '') : model)

/** Providers cache at least 1,024 tokens: fewer that are sent again, or that a request is smaller by, prove nothing. */
const leastShortening = 1024

const causeOfEvidence = ({ cause, known, because }: Evidence): Cause => ({ cause, known, because })

const causeOf = (
  chain: Chain,
  last: NonNullable<Chain['last']>,
  call: UsageCall,
  { input }: Counts,
  { lifetime, longLifetime, former }: CacheRules,
): Cause => {
  const evidence = call.evidence ?? chain.pending
  const other = baseOf(last.call.model)
  if (other !== baseOf(call.model))
    return {
      cause: 'model',
      known: 'proved',
      because: `the previous call went to ${shortName(other)}, and each model has its own cache${evidence === undefined ? '' : `; ${evidence.because}`}`,
    }
  const [before, began] = [beganOf(last.call), beganOf(call)]
  const gap = before === undefined || began === undefined ? undefined : began - before
  const isFormer = former !== undefined && began !== undefined && began < former.until
  const kept = chain.isLong ? longLifetime : isFormer ? former.lifetime : lifetime
  const areRequestsKnown = call.seenIn === 'requests' && last.call.seenIn === 'requests'
  const isLate = gap !== undefined && kept !== undefined && gap > kept
  // A late request is paid again from its beginning; a changed message is after it.
  if (evidence !== undefined && evidence.known !== 'likely' && !(isLate && evidence.cause === 'messages'))
    return causeOfEvidence(evidence)
  if (isLate)
    return {
      cause: 'expired',
      known: areRequestsKnown ? 'proved' : 'likely',
      because: `sent more than ${minutesText(gap)} after the last request, and the cache is kept for ${minutesText(kept)}`,
    }
  if (evidence !== undefined) return causeOfEvidence(evidence)
  if (areRequestsKnown)
    return {
      cause: 'missed',
      known: 'proved',
      because: 'nothing changed, but the prefix was no longer in the provider’s cache',
    }
  if (last.counts.input - input >= leastShortening)
    return {
      cause: 'shortened',
      known: 'likely',
      because: `the request is ${last.counts.input - input} tokens smaller than the last`,
    }
  return {
    cause: 'unknown',
    known: 'unknown',
    ruledOut: [
      ...(gap !== undefined && kept !== undefined ? ['a pause'] : []),
      'another model',
      ...(call.seenIn === 'lines' ? ['a compaction', 'a change in the file'] : []),
    ],
  }
}

/** Tokens of input by their rates: kept in the cache for an hour, kept for minutes, not written to it. */
type InputTokens = readonly [hour: number, written: number, fresh: number]

/** Takes the tokens of a request that were not read from the cache, in their order. */
export const inputTaker = ({
  input,
  cacheRead,
  cacheWrite,
  cacheWriteHour,
}: Required<Usage>): ((tokens: number) => InputTokens) => {
  let [hour, written, fresh] = [cacheWriteHour, cacheWrite - cacheWriteHour, input - cacheRead - cacheWrite]
  return (tokens) => {
    const a = Math.min(tokens, hour)
    const b = Math.min(tokens - a, written)
    const c = Math.min(tokens - a - b, fresh)
    hour -= a
    written -= b
    fresh -= c
    return [a, b, c]
  }
}

/** The dollars of input, at the rates of its request. */
export const inputDollars = ([hour, written, fresh]: InputTokens, rates: Rates): number =>
  (hour * (rates.cacheWriteHour ?? 2 * rates.input) + written * rates.cacheWrite + fresh * rates.input) / 1e6

/** The parts with their prices. */
const priced = (
  counts: Counts,
  rates: Rates | undefined,
  causes: Iterable<Cause & { readonly tokens: number }>,
): readonly UsagePart[] => {
  const { input, output, cacheRead } = counts
  const taken = inputTaker(counts)
  const parts: UsagePart[] = []
  const add = ({ tokens, ...cause }: Cause & { readonly tokens: number }, dollars: (of: Rates) => number): void => {
    if (tokens > 0) parts.push({ ...cause, tokens, ...(rates !== undefined && { dollars: dollars(rates) }) })
  }
  const addInput = (part: Cause & { readonly tokens: number }): void => {
    const tokens = taken(part.tokens)
    add(part, (of) => inputDollars(tokens, of))
  }
  const reported = { known: 'reported' } as const
  add({ ...reported, cause: 'read', tokens: cacheRead }, (of) => (cacheRead * of.cacheRead) / 1e6)
  let explained = 0
  for (const cause of causes) {
    explained += cause.tokens
    addInput(cause)
  }
  addInput({ ...reported, cause: 'new', tokens: input - cacheRead - explained })
  add({ ...reported, cause: 'answer', tokens: output }, (of) => (output * of.output) / 1e6)
  return parts
}
