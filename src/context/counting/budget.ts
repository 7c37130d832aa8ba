/** Budgets: how many tokens the messages of one model call may take. */

/**
 * The tokens for one model call. A number is used as is. A context window with its completion tokens is converted by
 * `usableTokens`, which leaves room for the answer, for tokens that providers add, and for estimation errors.
 */
export type Budget = number | { readonly window: number; readonly completion: number }

/**
 * The tokens that messages, tools and system prompt may take together: `⌊(window − (min(completion,
 * window / 4) + 2048)) × 0.9⌋`, at least 0. A plain number is rounded down.
 *
 * Source  codetether-agent `session/context/input_budget.rs`
 *
 * @throws TypeError if a number is not finite or is negative
 * @example
 * usableTokens({ window: 200_000, completion: 8_000 }) // => 170956
 */
export const usableTokens = (budget: Budget): number => {
  if (typeof budget === 'number') return Math.floor(tokens('budget', budget))
  if (typeof budget !== 'object' || budget === null)
    throw new TypeError(`budget is ${String(budget)}; expected a number of tokens, or { window, completion }`)
  const { window, answer, providers } = windowParts(budget)
  return Math.max(0, Math.floor((window - (answer + providers)) * estimateMargin))
}

/** A window and the parts of it that are not for messages. */
export interface WindowParts {
  /** The tokens of the whole window. */
  readonly window: number
  /** The tokens for the answer: the requested number, at most a quarter of the window. */
  readonly answer: number
  /** The tokens that providers add. */
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

/** Checks a count. Throws a TypeError with the name and the value. */
export const tokens = (name: string, value: number, what = 'tokens'): number => {
  if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return value
  throw new TypeError(`${name} is ${String(value)}; expected a number of ${what}: finite, at least 0`)
}

const protocolReserve = 2048
const estimateMargin = 0.9
