/** How Node's console shows a span, and what is read like one: its name, its length, and its last values. */
import type { Sequence } from './sequence.ts'

/** The name under which Node's console looks for a function that shows an object. */
export const inspectKey: symbol = Symbol.for('nodejs.util.inspect.custom')

/** How many values are shown. */
const shownValues = 3

/**
 * A line for the console: `View(5) [ 2 earlier, … ]`.
 *
 * @param title its name and length
 * @param values its values
 * @param depth how many more levels may be shown
 * @param options the console's options
 * @param inspect the console's function
 */
export const shownInConsole = (
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
