/** US dollars, as the command and the page print them. */
import { atLeast } from './format-text.ts'

/** $1.05, $0.265, $0.0020; never fewer than two digits that say something. */
export const dollarsText = (dollars: number): string => {
  if (dollars === 0) return '$0.00'
  if (dollars < 0.0001) return 'less than $0.0001'
  return `$${dollars < 0.01 ? dollars.toPrecision(2) : dollars.toFixed(dollars < 1 ? 3 : 2)}`
}

/** What calls cost, of which some may have no known price; empty if nothing was counted. */
export const costText = (
  dollars: number | undefined,
  unpriced: number = 0,
  isUndercounted = false,
): readonly string[] =>
  dollars === undefined
    ? unpriced > 0
      ? ['price unknown']
      : []
    : [`${atLeast(isUndercounted || unpriced > 0)}${dollarsText(dollars)}`]
