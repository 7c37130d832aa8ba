/** Reads and writes fields, elements and JSON text so that properties added to prototypes have no effect. */
import type { Json, JsonObject } from './json.ts'

/** Whether an object has an own field. Narrows like `in`, which also checks prototypes. */
export const hasField: <T extends object, K extends string>(value: T, field: K) => value is WithMember<T, K> =
  Object.hasOwn as never
type WithMember<T, K extends string> = [Member<T, K>] extends [never]
  ? T & { readonly [P in K]: unknown }
  : Member<T, K>
type Member<T, K> = T extends unknown ? (K extends keyof T ? T : never) : never

/** `Array.isArray`, but the elements are unknown and readonly. */
export const isArray: (value: unknown) => value is readonly unknown[] = Array.isArray

/** Whether a value is an object, but not an array. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whether a value is a whole number from 0. */
export const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

/** Define a property without calling a setter on a prototype. `__proto__` becomes an ordinary property. */
export const define = (target: object, key: PropertyKey, value: unknown): void => {
  Object.defineProperty(target, key, {
    __proto__: null,
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  } as PropertyDescriptor)
}

/** A field that may be absent. Fields added to `Object.prototype` are ignored. */
export const ownField = <T extends object, Key extends keyof T>(value: T, key: Key): T[Key] | undefined =>
  Object.hasOwn(value, key) || !Object.hasOwn(Object.prototype, key) ? value[key] : undefined

/** A copy of the own fields, without a prototype, for patterns: `const { id } = ownFields(message)`. Not for arrays. */
export const ownFields = <T extends object>(value: T): T => ({ __proto__: null, ...value })

/** A copy of an array. A hole is undefined, even if `Array.prototype` has an element there. */
export const ownItems = <T>(list: readonly T[]): (T | undefined)[] =>
  Array.from(list, (item, index) => (Object.hasOwn(list, index) ? item : undefined))

/** The members of `Object.prototype` in every runtime. */
const standard: ReadonlySet<PropertyKey> = new Set([
  ...['constructor', 'hasOwnProperty', 'isPrototypeOf', 'propertyIsEnumerable'],
  ...['toLocaleString', 'toString', 'valueOf'],
  ...['__proto__', '__defineGetter__', '__defineSetter__', '__lookupGetter__', '__lookupSetter__'],
])

/**
 * Whether a property was added to `Object.prototype`. Then foreign values are read as objects without a prototype,
 * so that absent fields are not read from it: see `parseJson`, `admit`, `withoutPrototypes`.
 */
export const isPolluted = (): boolean => Reflect.ownKeys(Object.prototype).some((key) => !standard.has(key))

/** Remove the prototypes from a result of `JSON.parse`, if `Object.prototype` is polluted. */
export const withoutPollution = <T>(value: T): T => {
  if (!isPolluted()) return value
  const open: unknown[] = [value]
  while (open.length > 0) {
    const next = open.pop()
    if (typeof next !== 'object' || next === null) continue
    if (!Array.isArray(next)) Object.setPrototypeOf(next, null)
    for (const inner of Object.values(next)) open.push(inner)
  }
  return value
}

/**
 * The text of plain JSON data.
 *
 * Cost    `JSON.stringify`; several times that if a prototype of objects or arrays has a `toJSON`
 */
export const textOfJson = (value: Json): string =>
  Object.hasOwn(Array.prototype, 'toJSON') || Object.hasOwn(Object.prototype, 'toJSON')
    ? stringifyWithoutToJson(value)
    : JSON.stringify(value) // an own `toJSON` is data, and so not a function

const stringifyWithoutToJson = (value: Json): string => {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(stringifyWithoutToJson).join(',')}]`
  return `{${Object.entries(value as JsonObject)
    .map(([key, item]) => `${JSON.stringify(key)}:${stringifyWithoutToJson(item)}`)
    .join(',')}}`
}
