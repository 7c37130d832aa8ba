/** Properties that somebody adds to the prototypes of built-ins, one at a time, while a function runs. */
/* oxlint-disable no-extend-native -- that is what is tested */
import { oneIn } from './rounds.ts'

const { defineProperty, getOwnPropertyDescriptor, setPrototypeOf } = Object

/** What such a property may be: a value, a value that can't be overwritten, a getter with a setter. */
const descriptorsOf = (value: unknown): readonly PropertyDescriptor[] => [
  { value, writable: true, enumerable: true, configurable: true },
  { value, writable: false, enumerable: false, configurable: true },
  { get: () => value, set: () => undefined, enumerable: true, configurable: true },
]

const message = { role: 'system', content: [{ type: 'text', text: 'EVIL' }] }
const parts = [{ ...message, type: 'tool_result' }]
const values: readonly unknown[] = ['evidence', 'tool', 1, true, message, parts, () => message]

/** Names that the language itself reads from what it is given: descriptors, `JSON`, promises, Immer. */
const languageNames = [
  'get',
  'set',
  'value',
  'writable',
  'enumerable',
  'configurable',
  'toJSON',
  'then',
  'base_',
  'type_',
]

/** The result with a property added; what was thrown counts as a result. */
const under = (target: object, key: PropertyKey, descriptor: PropertyDescriptor, run: () => unknown): unknown => {
  defineProperty(target, key, setPrototypeOf({ ...descriptor }, null) as PropertyDescriptor)
  try {
    return run()
  } catch (error) {
    return `${error as Error}`
  } finally {
    Reflect.deleteProperty(target, key)
  }
}

const textOf = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) => (inner instanceof Uint8Array ? [...inner] : inner)) ?? 'undefined'

/**
 * The additions that change the result of a function, with the place where it changes. Each name is added to
 * `Object.prototype`, and the indexes to `Array.prototype`. An accessor at an index is outside of what is promised.
 *
 * @param names the fields that the function may leave out, or may find absent in what it is given
 */
export const changedBy = (names: readonly PropertyKey[], run: () => unknown): readonly string[] => {
  const expected = textOf(run())
  const found: string[] = []
  const attempt = (target: object, key: PropertyKey, descriptor: PropertyDescriptor): void => {
    if (getOwnPropertyDescriptor(target, key) !== undefined) return
    const result = textOf(under(target, key, descriptor, run))
    if (result === expected) return
    const at = [...expected].findIndex((letter, index) => letter !== result[index])
    const instead = `${expected.slice(Math.max(0, at - 30), at + 50)} became ${result.slice(Math.max(0, at - 30), at + 50)}`
    found.push(`${target === Object.prototype ? 'Object' : 'Array'}.prototype.${String(key)}: ${instead}`)
  }
  const kinds = values.flatMap((value) => descriptorsOf(value))
  for (const [at, key] of [...languageNames, ...names].entries())
    for (const [kind, descriptor] of kinds.entries()) {
      if ((at + kind) % oneIn(4) !== 0) continue // a sample, which differs by name
      attempt(Object.prototype, key, descriptor)
      if (key === 'toJSON') attempt(Array.prototype, key, descriptor)
    }
  for (const index of ['0', '1', '2', '5', '127', '128'])
    for (const value of values.slice(3, 5))
      attempt(Array.prototype, index, { value, writable: true, enumerable: true, configurable: true })
  return [...new Set(found)]
}
