/** Reads a foreign value field by field. An unexpected value throws `Unexpected`, which a codec turns into a fault. */
import { isObject, ownField } from './own.ts'
import type { Json, JsonObject } from './json.ts'
import type { Path } from './path.ts'

/** Thrown for an unexpected value. Not an Error, because it never leaves a codec. */
export class Unexpected {
  path: Path
  readonly expected: string
  readonly found: string

  constructor(path: Path, expected: string, value: unknown) {
    this.path = path
    this.expected = expected
    this.found = describe(value)
  }

  /** Prefixes the path. The path is built while the exception propagates, so valid values cost nothing. */
  within(...steps: Path): this {
    this.path = [...steps, ...this.path]
    return this
  }
}

/** Read each item of a list. An unexpected item is reported with its index. */
export const readEach = <T>(list: readonly Json[], read: (item: Json, index: number) => T): T[] =>
  list.map((item, index) => {
    try {
      return read(item, index)
    } catch (error) {
      throw error instanceof Unexpected ? error.within(index) : error
    }
  })

/** Read the value at `key`. An unexpected value is reported with the key. */
export const readIn = <T>(owner: JsonObject, key: string, read: (value: Json | undefined) => T): T => {
  try {
    return read(ownField(owner, key))
  } catch (error) {
    throw error instanceof Unexpected ? error.within(key) : error
  }
}

/** The value as a string. Throws Unexpected. */
export const aString = (value: unknown): string => stringAt(value, [])
/** The value as an object. Throws Unexpected. */
export const anObject = (value: unknown): JsonObject => objectAt(value, [])
/** The value as an array. Throws Unexpected. */
export const aList = (value: unknown): readonly Json[] => arrayAt(value, [])

export const hasOnly = (value: object, names: readonly string[]): boolean =>
  Object.keys(value).every((name) => names.includes(name))

/** The value, if it is a list; otherwise an empty list. */
export const listOrEmpty = (value: unknown): unknown[] => (Array.isArray(value) ? (value as unknown[]) : [])

/** The value, if it is a text; otherwise an empty text. */
export const textOrEmpty = (value: unknown): string => (typeof value === 'string' ? value : '')

/** The value at `path` as an object. Throws Unexpected. */
export const objectAt = (value: unknown, path: Path): JsonObject => {
  if (!isObject(value)) throw new Unexpected(path, 'an object', value)
  return value
}

/** The value at `path` as an array. Throws Unexpected. */
export const arrayAt = (value: unknown, path: Path): readonly Json[] => {
  if (!Array.isArray(value)) throw new Unexpected(path, 'an array', value)
  return value as readonly Json[]
}

/** The value at `path` as a string. Throws Unexpected. */
export const stringAt = (value: unknown, path: Path): string => {
  if (typeof value !== 'string') throw new Unexpected(path, 'a string', value)
  return value
}

/** The fields of an object that are not in `known`; undefined if there are none. */
export const fieldsBeside = (value: JsonObject, known: readonly string[]): JsonObject | undefined => {
  const others = Object.entries(value).filter(([name]) => !known.includes(name))
  return others.length === 0 ? undefined : Object.fromEntries(others)
}

/** A description of a value for people: `an object with role, content`, `"text"`, `nothing`. */
export const describe = (value: unknown): string => {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (typeof value === 'function' ? 'then' in value : value instanceof Promise) return 'a task: await it first'
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : 'an array'
  if (typeof value === 'object') {
    const names = Object.keys(value)
    const shown = names.slice(0, 4).map(quoteValue).join(', ')
    return names.length === 0 ? 'an empty object' : `an object with ${shown}${names.length > 4 ? ', …' : ''}`
  }
  return quoteValue(value)
}

const quoteValue = (value: unknown): string => {
  const text =
    typeof value === 'bigint'
      ? `${value}n`
      : typeof value === 'number'
        ? `${value}`
        : (JSON.stringify(value) ?? typeof value)
  return text.length <= 40 ? text : `${text.slice(0, 40)}… (${text.length} characters)`
}
