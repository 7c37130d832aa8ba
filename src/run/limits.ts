/** When a run ends though the model would go on. */
import { ownField, present } from '../json/index.ts'
import type { Usage } from '../notes/kit.ts'
import { amount, type Amount } from '../task/index.ts'
import type { RunStep, StopReason } from './result.ts'

/** The limits of a run. Each is at least 0; `Infinity` means no limit. */
export interface Limits {
  /** The most model calls, a whole number. Default: 50. */
  readonly maxSteps: number
  /**
   * The most tool calls of the whole run, a whole number. If an answer has more calls than are left, none of them runs.
   * Default: no limit.
   */
  readonly maxToolCalls: number
  /**
   * The most input and output tokens of all steps, as the provider counts them; checked after each answer. An
   * interrupted answer counts nothing, because its provider has not reported its tokens. Default: no limit.
   */
  readonly maxTokens: number
  /** The most US dollars of all steps, by `prices` or `modelPrices`; checked after each answer. Default: no limit. */
  readonly maxDollars: number
  /** The time of the whole run, in milliseconds. Default: no limit. */
  readonly timeout: number
  /** The time of each step, its answer and its tools, in milliseconds. Default: no limit. */
  readonly stepTimeout: number
  /** Milliseconds that a handler may take for an event. One that takes longer ends the run with `HandlerFailed`. Default: none. */
  readonly handlerTimeout: number
  /**
   * Called after each step with tools. Default: the run continues.
   *
   * @param state the steps, tokens and dollars so far
   * @returns true to end the run
   */
  readonly stopWhen?: (state: LimitState) => boolean
}

/** The state of a run, for `stopWhen`. */
export interface LimitState {
  /** The steps so far. */
  readonly steps: readonly RunStep[]
  /** The tokens of all steps. */
  readonly usage: Usage
  /** The price of all steps in US dollars; undefined if a price is unknown. */
  readonly dollars: number | undefined
}

/** The tokens and dollars that a run has used. */
export interface SpentSoFar {
  readonly usage: Usage
  readonly dollars: number | undefined
}

/** A limit that is reached: what the results of calls say that are not run for it, and why the run ends. */
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
  stepTimeout: { unit: 'milliseconds', usually: Infinity },
  handlerTimeout: { unit: 'milliseconds', usually: Infinity },
}

/** Limits with every default filled in. Throws TypeError, on one that is no limit. */
export const limitsOf = (given: Partial<Limits> = {}): Limits => {
  const names = [...Object.keys(amounts), 'stopWhen']
  const unknown = Object.keys(given).find((name) => !names.includes(name))
  if (unknown !== undefined)
    throw new TypeError(`limits.${unknown} is no limit of a run; there are ${names.join(', ')}`)
  const limits = Object.entries(amounts).map(([name, { usually, ...what }]) => {
    const value = ownField(given, name as keyof typeof amounts)
    return [name, value === undefined ? usually : amount(`limits.${name}`, value, what)]
  })
  const stopWhen = ownField(given, 'stopWhen')
  if (stopWhen !== undefined && typeof stopWhen !== 'function') throw new TypeError('limits.stopWhen is no function')
  return Object.freeze({
    ...(Object.fromEntries(limits) as { readonly [Name in keyof typeof amounts]: number }),
    ...present({ stopWhen }),
  })
}

/** Whether what was used is more than a run may use. */
export const overspent = (
  { usage, dollars }: SpentSoFar,
  { maxTokens, maxDollars }: Limits,
): ReachedLimit | undefined => {
  if (usage.input + usage.output > maxTokens)
    return { reason: `Not run: this run has reached its limit of ${maxTokens} tokens.`, stop: 'max_tokens' }
  if (dollars !== undefined && dollars > maxDollars)
    return { reason: `Not run: this run has reached its limit of $${maxDollars}.`, stop: 'max_dollars' }
  return undefined
}
