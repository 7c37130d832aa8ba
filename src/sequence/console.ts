/** Formats spans and similar values for Node's console: name, length, and the last values. */
import type { Sequence } from './sequence.ts'

/** The key of the function that Node's console calls to show an object. */
export const inspectKey: symbol = Symbol.for('nodejs.util.inspect.custom')

const shownValues = 3

/**
 * A line for the console: `View(5) [ 2 earlier, … ]`.
 *
 * @param title the name and length
 * @param values the values
 * @param depth how many more levels may be shown
 * @param options the console's options
 * @param inspect the console's formatting function
 */
export const consoleTextOf = (
  title: string,
  values: Sequence<unknown>,
  depth: number,
  options: object,
  inspect: unknown,
): string => {
  const { length } = values
  if (depth < 0 || typeof inspect !== 'function') return `[${title}]`
  const earlier = length - shownValues
  const list: unknown[] = earlier > 0 ? [{ [inspectKey]: () => `${earlier} earlier` }] : []
  for (let index = earlier > 0 ? earlier : 0; index < length; index++) list.push(values.at(index))
  return `${title} ${inspect(list, options) as string}`
}
