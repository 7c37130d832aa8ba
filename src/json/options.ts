/** Reads the options of a call, and rejects unknown names, which plain JavaScript would ignore. */
import { ownFields } from './own.ts'
import { describe } from './reading.ts'

/** The names of options. The compiler requires each of them. */
export type OptionNames<T> = { readonly [Name in keyof T]-?: true }

/**
 * The options of a call: a copy of the own fields without a prototype, so that absent options are
 * undefined, whatever `Object.prototype` has.
 *
 * Cost    O(names given)
 * Throws  TypeError if they are not an object, or a name is not in `known`; the message suggests the nearest one
 * @param call the function, as a caller writes it
 * @param known all names. Default: any name is accepted
 */
export const optionsOf = <T extends object>(call: string, options: T | undefined, known?: OptionNames<T>): T => {
  if (options === undefined) return Object.create(null) as T // calls with required options check them later
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw new TypeError(`${call} takes its options as an object, found ${describe(options)}`)
  if (known !== undefined)
    for (const name of Object.keys(options))
      if (!Object.hasOwn(known, name)) throw new TypeError(unknownName(call, name, Object.keys(known)))
  return ownFields(options)
}

/**
 * Throws TypeError for an argument that the compiler would have rejected.
 *
 * @param call the function, as a caller writes it
 * @param isRight whether the argument is of its type
 * @param expected what the function takes: `a list of ids`
 */
export const checkArgument = (call: string, isRight: boolean, expected: string, value: unknown): void => {
  if (!isRight) throw new TypeError(`${call} takes ${expected}, found ${describe(value)}`)
}

const unknownName = (of: string, name: string, names: readonly string[]): string => {
  const close = nearest(name, names)
  const meant = close === undefined ? '' : ` Did you mean \`${close}\`?`
  return `${of} has no option ${JSON.stringify(name)}.${meant} Its options: ${names.join(', ')}`
}

/** The option name that needs the fewest changes, or shares a prefix; undefined if most letters differ. */
const nearest = (name: string, names: readonly string[]): string | undefined => {
  let best: string | undefined
  let least = Math.max(2, Math.ceil(name.length / 2))
  for (const other of names) {
    const [a, two] = [name.toLowerCase(), other.toLowerCase()]
    const changes = two.startsWith(a) || a.startsWith(two) ? 1 : distance(a, two)
    if (changes < least) [best, least] = [other, changes]
  }
  return best
}

/** The number of letters to insert, remove or change (Levenshtein distance). */
const distance = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let at = 1; at <= a.length && at <= 100; at++) {
    const next = [at]
    for (let to = 1; to <= b.length; to++) {
      const change = (row[to - 1] as number) + (a[at - 1] === b[to - 1] ? 0 : 1)
      next.push(Math.min(change, (row[to] as number) + 1, (next[to - 1] as number) + 1))
    }
    row = next
  }
  return row.at(-1) as number
}
