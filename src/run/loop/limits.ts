/** The limits of a run. */
import { optionsOf, present, type OptionNames } from '../../json/index.ts'
import type { Usage } from '../../notes/internal.ts'
import { amount, type Amount } from '../../task/index.ts'
import type { RunStep, StopReason } from '../result.ts'

/** The limits of a run. Each is at least 0; `Infinity` means no limit. */
export interface Limits {
  /** The maximum model calls, a whole number. Default: 50. */
  readonly maxSteps: number
  /**
   * The maximum tool calls of the whole run, a whole number. If an answer calls more tools than are
   * left, none of them run. Default: no limit.
   */
  readonly maxToolCalls: number
  /**
   * The maximum input and output tokens of all steps, by the provider's count, checked after each answer. An
   * interrupted answer counts nothing, because its provider has not reported its tokens. Default: no limit.
   */
  readonly maxTokens: number
  /** The maximum US dollars of all steps, by `prices` or `modelPrices`, checked per answer. Default: no limit. */
  readonly maxDollars: number
  /** The maximum duration of the run, in milliseconds. Default: no limit. */
  readonly timeout: number
  /**
   * Milliseconds after which nothing new is started: no model call, no tool. Whatever runs then finishes and is recorded,
   * and the run ends as `paused`, for platforms that end a request after some time. The next request continues it:
   * `resume`, `turn` with the id of the input, or `run` with `open` if the result has one. Default: no limit.
   */
  readonly softTimeout: number
  /** The maximum duration of each step with its answer and tools, in milliseconds. Default: no limit. */
  readonly stepTimeout: number
  /** The maximum milliseconds per event and handler; then the run ends with `HandlerFailed`. Default: no limit. */
  readonly handlerTimeout: number
  /**
   * Called after each step with tools. Default: the run continues.
   *
   * @param state the steps, tokens and dollars so far
   * @returns true to end the run; a promise is a fault, because it is not awaited
   */
  readonly stopWhen?: (state: LimitState) => boolean
}

/** The state of a run, for `stopWhen`. */
interface LimitState {
  /** The steps so far. */
  readonly steps: readonly RunStep[]
  /** The tokens of all steps. */
  readonly usage: Usage
  /** The price of all steps in US dollars; undefined if a price is unknown. */
  readonly dollars: number | undefined
}

/** The tokens and dollars used so far. */
export type SpentSoFar = Omit<LimitState, 'steps'>

/** A reached limit: the text for the results of calls that are not run, and the stop reason. */
export interface ReachedLimit {
  readonly reason: string
  readonly stop: StopReason
}

const amounts: { readonly [Name in Exclude<keyof Limits, 'stopWhen'>]: Amount & { readonly usually: number } } = {
  maxSteps: { unit: 'steps', whole: true, usually: 50 },
  maxToolCalls: { unit: 'calls', whole: true, usually: Infinity },
  maxTokens: { unit: 'tokens', usually: Infinity },
  maxDollars: { unit: 'US dollars', usually: Infinity },
  timeout: { unit: 'milliseconds', usually: Infinity },
  softTimeout: { unit: 'milliseconds', usually: Infinity },
  stepTimeout: { unit: 'milliseconds', usually: Infinity },
  handlerTimeout: { unit: 'milliseconds', usually: Infinity },
}

const limitNames = Object.fromEntries([...Object.keys(amounts), 'stopWhen'].map((name) => [name, true] as const))

/** Limits with all defaults. Throws a TypeError for an invalid one. */
export const limitsOf = (options: Partial<Limits> | undefined): Limits => {
  const own = optionsOf('limits', options, limitNames as OptionNames<Limits>)
  const { stopWhen } = own
  if (stopWhen !== undefined && typeof stopWhen !== 'function') throw new TypeError('limits.stopWhen is not a function')
  const limits: { [name: string]: number } = {}
  for (const [name, { usually, ...what }] of Object.entries(amounts)) {
    const value = own[name as keyof typeof amounts]
    limits[name] = value === undefined ? usually : amount(`limits.${name}`, value, what)
  }
  return Object.freeze({ ...(limits as { [Name in keyof typeof amounts]: number }), ...present({ stopWhen }) })
}

/** The exceeded limit of tokens or dollars, if any. */
export const exceedsLimits = (
  { usage, dollars }: SpentSoFar,
  { maxTokens, maxDollars }: Limits,
): ReachedLimit | undefined => {
  if (usage.input + usage.output > maxTokens)
    return { reason: `Not run: this run has reached its limit of ${maxTokens} tokens.`, stop: 'max_tokens' }
  if (dollars !== undefined && dollars > maxDollars)
    return { reason: `Not run: this run has reached its limit of $${maxDollars}.`, stop: 'max_dollars' }
  return undefined
}
