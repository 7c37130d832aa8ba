/** Counts what was recorded. */
import { ownField } from 'indelible/internal/json'
import { usageDollars } from 'indelible/internal/prices'
import { RecentMap } from 'indelible/internal/sequence'
import type { Usage } from 'indelible/internal/notes'
import { breakIn, type UsageCause } from 'indelible/internal/usage'
import type { ExplainedCall, UsagePart } from 'indelible/usage'

/** Summed-up tokens. */
type TokenCounts = Required<Omit<Usage, 'cacheWriteHour'>>

/** The recordings so far. */
export interface RecorderSummary {
  /** The last 10,000 sessions with recorded calls, by last call. */
  readonly sessions: readonly string[]
  /** The number of further sessions; one that dropped out of the list and was recorded into again counts twice. */
  readonly moreSessions: number
  /** The number of recorded calls. */
  readonly calls: number
  /** The number of calls that failed or broke off. */
  readonly failed: number
  /** The number of other calls without token counts, because their provider sent none. */
  readonly silent: number
  /** The number of requests without a conversation. */
  readonly passed: number
  /** The number of calls that were not recorded, or only in part. */
  readonly lost: number
  /** The number of those whose request was recorded but not their answer. */
  readonly unanswered: number
  /** The tokens of all calls, as counted by the providers. */
  readonly usage: TokenCounts
  /** Where cached prefixes ended, with the number of the call among those of its session, from 1: the first 1,000 cases. */
  readonly breaks: readonly {
    readonly session: string
    readonly call: number
    /** Why the prefix ended, and in words. */
    readonly cause: UsagePart['cause']
    readonly because: string
  }[]
  /** The number of further cases. */
  readonly moreBreaks: number
  /** What the tokens were paid for: those of each cause, and their list price in US dollars. */
  readonly causes: ReadonlyMap<UsagePart['cause'], { readonly tokens: number; readonly dollars: number }>
  /** Tokens by model; those of more than 1,000 models under `others`. */
  readonly models: ReadonlyMap<string, TokenCounts>
  /** The list price of the calls whose model has a known one, in US dollars. */
  readonly dollars: number
  /** The number of calls with tokens but without a known price. */
  readonly unpriced: number
}

const mostSessions = 10_000
const mostBreaks = 1000
const mostModels = 1000

const noUsage: TokenCounts = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }

interface CountedCall {
  readonly session: string
  readonly model: string
  /** Whether it failed or broke off. */
  readonly failed: boolean
  readonly usage: Usage | undefined
  /** The call as its receipt explains it; undefined if that can't be read. */
  readonly explained: ExplainedCall | undefined
}

export class Tally {
  readonly #sessions = new RecentMap<string, true>(mostSessions)
  readonly #breaks: RecorderSummary['breaks'][number][] = []
  readonly #models = new Map<string, TokenCounts>()
  readonly #causes = new Map<UsageCause, { readonly tokens: number; readonly dollars: number }>()
  #moreSessions = 0
  #moreBreaks = 0
  #calls = 0
  #failed = 0
  #silent = 0
  #passed = 0
  #lost = 0
  #unanswered = 0
  #dollars = 0
  #unpriced = 0

  called({ session, model, failed, usage, explained }: CountedCall): void {
    if (this.#sessions.set(session, true) !== undefined) this.#moreSessions++
    this.#calls++
    if (failed) this.#failed++
    const broke = explained && breakIn(explained)
    if (broke !== undefined && this.#breaks.length < mostBreaks) {
      const { cause, because = cause } = broke
      this.#breaks.push({ session, call: explained?.number ?? 0, cause, because })
    } else if (broke !== undefined) this.#moreBreaks++
    for (const { cause, tokens, dollars = 0 } of explained?.parts ?? []) {
      const sum = this.#causes.get(cause)
      this.#causes.set(cause, { tokens: (sum?.tokens ?? 0) + tokens, dollars: (sum?.dollars ?? 0) + dollars })
    }
    if (usage === undefined && !failed) this.#silent++
    if (usage === undefined) return
    const name = this.#models.size < mostModels || this.#models.has(model) ? model : 'others'
    this.#models.set(name, addUsage(this.#models.get(name) ?? noUsage, usage))
    // By call, because long requests have a different price.
    const dollars = usageDollars(model, usage)
    if (dollars === undefined) this.#unpriced++
    else this.#dollars += dollars
  }

  /** Count a request that is not recorded. */
  passed(): void {
    this.#passed++
  }

  /** Count a call whose request, or only its answer, could not be recorded. */
  lost(of: 'request' | 'answer'): void {
    this.#lost++
    if (of === 'answer') this.#unanswered++
  }

  summary(): RecorderSummary {
    let usage = noUsage
    for (const counts of this.#models.values()) usage = addUsage(usage, counts)
    return Object.freeze({
      sessions: Object.freeze([...this.#sessions.keys()]),
      moreSessions: this.#moreSessions,
      calls: this.#calls,
      silent: this.#silent,
      failed: this.#failed,
      passed: this.#passed,
      lost: this.#lost,
      unanswered: this.#unanswered,
      usage,
      breaks: Object.freeze([...this.#breaks]),
      moreBreaks: this.#moreBreaks,
      causes: new Map(this.#causes),
      models: new Map(this.#models),
      dollars: this.#dollars,
      unpriced: this.#unpriced,
    })
  }
}

const addUsage = (counts: TokenCounts, more: Usage): TokenCounts => ({
  input: counts.input + more.input,
  output: counts.output + more.output,
  cacheRead: counts.cacheRead + (ownField(more, 'cacheRead') ?? 0),
  cacheWrite: counts.cacheWrite + (ownField(more, 'cacheWrite') ?? 0),
})
