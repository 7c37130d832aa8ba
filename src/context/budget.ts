/** Budgets: how many tokens the messages of one model call may take. */

/**
 * Plain tokens, taken as they are; or a model's context window and the tokens its answer may take, of which
 * `usableTokens` leaves room for the answer, for what providers add, and for a wrong estimate.
 */
export type Budget = number | { readonly window: number; readonly completion: number }

/**
 * The tokens that messages, tools and system prompt may take together:
 * `⌊(window − (min(completion, window / 4) + 2048)) × 0.9⌋`, at least 0; plain tokens as they are.
 *
 * Throws  TypeError, on what is not a finite number of at least 0
 * Source  codetether-agent `session/context/input_budget.rs`
 * @example
 * usableTokens({ window: 200_000, completion: 8_000 }) // => 170956
 */
export const usableTokens = (budget: Budget): number => {
  if (typeof budget === 'number') return Math.floor(tokens('budget', budget))
  const { window, answer, providers } = windowParts(budget)
  return Math.max(0, Math.floor((window - (answer + providers)) * estimateMargin))
}

/** What a window is for beside messages, tools and system prompt. */
export interface WindowParts {
  /** The tokens of the whole window. */
  readonly window: number
  /** For the answer: what was asked for, or a quarter of the window. */
  readonly answer: number
  /** For what providers add. */
  readonly providers: number
}

export const windowParts = (budget: Exclude<Budget, number>): WindowParts => {
  const window = tokens('budget.window', budget.window)
  return Object.freeze({
    window,
    answer: Math.min(tokens('budget.completion', budget.completion), window / 4),
    providers: protocolReserve,
  })
}

/** A number of tokens, or of something else, or a TypeError that names what is none. */
export const tokens = (name: string, value: number, what = 'tokens'): number => {
  if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return value
  throw new TypeError(`${name} is ${String(value)}; expected a number of ${what}: finite, at least 0`)
}

const protocolReserve = 2048
const estimateMargin = 0.9
