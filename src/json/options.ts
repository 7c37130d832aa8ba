/** Options by name: a name that there is not is a mistake, which plain JavaScript would pass over in silence. */
import { isArray, keysOf, stringify } from './builtins.ts'

/**
 * What refuses options under other names than these.
 *
 *     const check = optionsOf<ForkOptions>('forkSession', { at: true, id: true, metadata: true })
 *
 * Cost    O(names given)
 * @param of the function that takes the options, as a person calls it
 * @param known every name, so that the compiler misses none
 * @returns a function that gives the options back, or throws a TypeError with the unknown name, the nearest known one, and
 *          all of them
 */
export const optionsOf = <O extends object>(
  of: string,
  known: { readonly [Name in keyof O]-?: true },
): (<T>(options: T) => T) => {
  const names = keysOf(known)
  const set: { readonly [name: string]: true } = Object.assign(Object.create(null), known)
  return (options) => {
    if (typeof options !== 'object' || options === null || isArray(options)) return options
    const given = keysOf(options)
    for (let index = 0; index < given.length; index++) {
      const name = given[index] as string
      if (set[name] !== true) throw new TypeError(unknownName(of, name, names))
    }
    return options
  }
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
