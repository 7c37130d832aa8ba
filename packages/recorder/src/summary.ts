/** What was recorded so far, in figures. */
import { ownField } from 'indelible/json/kit'
import { usageDollars } from 'indelible/context/kit'
import { RecentMap } from 'indelible/sequence/kit'
import type { Usage } from 'indelible/notes/kit'
import type { CacheBreak } from './receipt.ts'

/** The recordings so far. */
export interface RecorderSummary {
  /** The last 10,000 sessions that calls were recorded in, in the order of their last call. */
  readonly sessions: readonly string[]
  /** How many more there were; one that was passed and then recorded into again is counted twice. */
  readonly moreSessions: number
  /** How many calls were recorded. */
  readonly calls: number
  /** How many of them failed or broke off. */
  readonly failed: number
  /** How many others had no token counts, because their provider sent none. */
  readonly silent: number
  /** How many requests went by that carry no conversation. */
  readonly passed: number
  /** How many calls could not be recorded, or not whole. */
  readonly lost: number
  /** How many of them have no answer, because only their request could be recorded. */
  readonly unanswered: number
  /** The tokens of all calls, as the providers counted them. */
  readonly usage: Required<Usage>
  /** Where cached prefixes ended: the first 1,000 of them. */
  readonly breaks: readonly (CacheBreak & { readonly session: string })[]
  /** How many more there were. */
  readonly moreBreaks: number
  /** Tokens by model; those of more than 1,000 models under `others`. */
  readonly models: ReadonlyMap<string, Required<Usage>>
  /** The list price of the calls whose model has a known one, in US dollars. */
  readonly dollars: number
  /** How many calls with tokens have no known price. */
  readonly unpriced: number
}

const mostSessions = 10_000
const mostBreaks = 1000
const mostModels = 1000

const noUsage: Required<Usage> = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }

/** A recorded call, as far as it is counted. */
export interface CountedCall {
  readonly session: string
  readonly model: string
  /** It failed or broke off. */
  readonly failed: boolean
  readonly usage: Usage | undefined
  readonly broke: CacheBreak | undefined
}

/** Counts what a recorder does. */
export class Tally {
  readonly #sessions = new RecentMap<string, true>(mostSessions)
  readonly #breaks: (CacheBreak & { readonly session: string })[] = []
  readonly #models = new Map<string, Required<Usage>>()
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

  /** A call was recorded. */
  called({ session, model, failed, usage, broke }: CountedCall): void {
    if (this.#sessions.set(session, true) !== undefined) this.#moreSessions++
    this.#calls++
    if (failed) this.#failed++
    if (broke !== undefined && this.#breaks.length < mostBreaks) this.#breaks.push({ ...broke, session })
    else if (broke !== undefined) this.#moreBreaks++
    if (usage === undefined && !failed) this.#silent++
    if (usage === undefined) return
    const name = this.#models.size < mostModels || this.#models.has(model) ? model : 'others'
    this.#models.set(name, addUsage(this.#models.get(name) ?? noUsage, usage))
    // By call, because long requests have a different price.
    const dollars = usageDollars(model, usage)
    if (dollars === undefined) this.#unpriced++
    else this.#dollars += dollars
  }

  /** A request went by that is not recorded. */
  passed(): void {
    this.#passed++
  }

  /** The request of a call, or its answer alone, could not be recorded. */
  lost(of: 'request' | 'answer'): void {
    this.#lost++
    if (of === 'answer') this.#unanswered++
  }

  summary(): RecorderSummary {
    let usage = noUsage
    for (const one of this.#models.values()) usage = addUsage(usage, one)
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
      models: new Map(this.#models),
      dollars: this.#dollars,
      unpriced: this.#unpriced,
    })
  }
}

const addUsage = (one: Required<Usage>, more: Usage): Required<Usage> => ({
  input: one.input + more.input,
  output: one.output + more.output,
  cacheRead: one.cacheRead + (ownField(more, 'cacheRead') ?? 0),
  cacheWrite: one.cacheWrite + (ownField(more, 'cacheWrite') ?? 0),
})
