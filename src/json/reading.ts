/** Reading a foreign value field by field. What is not as expected is thrown as `Unexpected` and becomes a fault where the codec begins. */
import type { Json, JsonObject } from './json.ts'
import type { Path } from './path.ts'

/** Not an Error: it never leaves a codec. */
export class Unexpected {
  path: Path
  readonly expected: string
  readonly found: string

  constructor(path: Path, expected: string, value: unknown) {
    this.path = path
    this.expected = expected
    this.found = describe(value)
  }

  /** The same, seen from further out. The path is gathered on the way up, so that what is in order pays nothing for it. */
  within(...steps: Path): this {
    this.path = [...steps, ...this.path]
    return this
  }
}

/** Read each item of a list. What is unexpected in one is told with its index. */
export const readEach = <T>(list: readonly Json[], read: (item: Json, index: number) => T): T[] => {
  const result: T[] = []
  for (let index = 0; index < list.length; index++) {
    try {
      result.push(read(list[index] as Json, index))
    } catch (error) {
      throw error instanceof Unexpected ? error.within(index) : error
    }
  }
  return result
}

/** Read what stands at `key`. What is unexpected in it is told with the key. */
export const readIn = <T>(owner: JsonObject, key: string, read: (value: Json | undefined) => T): T => {
  try {
    return read(owner[key])
  } catch (error) {
    throw error instanceof Unexpected ? error.within(key) : error
  }
}

export const aString = (value: unknown): string => stringAt(value, [])
export const anObject = (value: unknown): JsonObject => objectAt(value, [])
export const aList = (value: unknown): readonly Json[] => arrayAt(value, [])

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const objectAt = (value: unknown, path: Path): JsonObject => {
  if (!isObject(value)) throw new Unexpected(path, 'an object', value)
  return value
}

export const arrayAt = (value: unknown, path: Path): readonly Json[] => {
  if (!Array.isArray(value)) throw new Unexpected(path, 'an array', value)
  return value as readonly Json[]
}

export const stringAt = (value: unknown, path: Path): string => {
  if (typeof value !== 'string') throw new Unexpected(path, 'a string', value)
  return value
}

/** The fields of an object that are not among `known`, or undefined if there are none. */
export const fieldsBeside = (value: JsonObject, known: readonly string[]): JsonObject | undefined => {
  const others = Object.entries(value).filter(([name]) => !known.includes(name))
  return others.length === 0 ? undefined : Object.fromEntries(others)
}

export const describe = (value: unknown): string => {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : 'an array'
  if (typeof value === 'object') {
    const names = Object.keys(value)
    return names.length === 0 ? 'an empty object' : `an object with ${names.slice(0, 4).map(quoted).join(', ')}${names.length > 4 ? ', …' : ''}`
  }
  return quoted(value)
}

const quoted = (value: unknown): string => {
  const text = typeof value === 'bigint' ? `${value}n` : (JSON.stringify(value) ?? typeof value)
  return text.length <= 40 ? text : `${text.slice(0, 40)}… (${text.length} characters)`
}
