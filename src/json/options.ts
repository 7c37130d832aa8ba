/** Options of a call, as somebody without types may give them: plain JavaScript passes over what it does not know. */
import { create, hasOwn, isArray, keysOf, stringify, symbolsOf } from './builtins.ts'
import { describe } from './reading.ts'

/** The names of options, each once: the compiler misses none. */
export type OptionNames<T> = { readonly [Name in keyof T]-?: true }

/**
 * The options of a call: a copy of its own fields without a prototype, so an option that is not given is undefined,
 * whatever somebody has put on `Object.prototype`.
 *
 * Cost    O(names given)
 * Throws  TypeError, if they are no object, or one of them is not among `known`: it names the nearest one
 * @param call the function that takes them, as a person calls it
 * @param known every name. Default: any name passes
 */
export const optionsOf = <T extends object>(call: string, given: T | undefined, known?: OptionNames<T>): T => {
  const options = create(null) as { [name: PropertyKey]: unknown }
  if (given === undefined) return options as T // each option is optional, where a call may go without
  if (typeof given !== 'object' || given === null || isArray(given))
    throw new TypeError(`${call} takes its options as an object, found ${describe(given)}`)
  const names = keysOf(given)
  for (let index = 0; index < names.length; index++) {
    const name = names[index] as string
    if (known !== undefined && !hasOwn(known, name)) throw new TypeError(unknownName(call, name, keysOf(known)))
    options[name] = (given as typeof options)[name]
  }
  const symbols = symbolsOf(given)
  for (let index = 0; index < symbols.length; index++)
    options[symbols[index] as symbol] = (given as typeof options)[symbols[index] as symbol]
  return options as T
}

const unknownName = (of: string, name: string, names: readonly string[]): string => {
  const close = nearest(name, names)
  const meant = close === undefined ? '' : ` Did you mean \`${close}\`?`
  return `${of} has no option ${stringify(name)}.${meant} Its options: ${names.join(', ')}`
}

/** The name with the fewest letters to change, or one that begins so; undefined, if most letters differ. */
const nearest = (name: string, names: readonly string[]): string | undefined => {
  let best: string | undefined
  let least = Math.max(2, Math.ceil(name.length / 2))
  for (const other of names) {
    const [one, two] = [name.toLowerCase(), other.toLowerCase()]
    const changes = two.startsWith(one) || one.startsWith(two) ? 1 : distance(one, two)
    if (changes < least) [best, least] = [other, changes]
  }
  return best
}

/** How many letters must be put in, left out or changed (Levenshtein). */
const distance = (one: string, other: string): number => {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let at = 1; at <= one.length && at <= 100; at++) {
    const next = [at]
    for (let to = 1; to <= other.length; to++) {
      const change = (row[to - 1] as number) + (one[at - 1] === other[to - 1] ? 0 : 1)
      next.push(Math.min(change, (row[to] as number) + 1, (next[to - 1] as number) + 1))
    }
    row = next
  }
  return row.at(-1) as number
}
