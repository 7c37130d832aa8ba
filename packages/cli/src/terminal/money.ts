/** US dollars, as the command and the page print them. */

/** $1.05, $0.265, $0.0020; never fewer than two digits that say something. */
export const dollarsText = (dollars: number): string => {
  if (dollars === 0) return '$0.00'
  if (dollars < 0.0001) return 'less than $0.0001'
  return `$${dollars < 0.01 ? dollars.toPrecision(2) : dollars.toFixed(dollars < 1 ? 3 : 2)}`
}
