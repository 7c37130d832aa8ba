import type { JsonObject } from './json.ts'

/**
 * Whether two values of plain JSON data are equal as JSON: same types, same elements, same keys in any order.
 *
 * Cost    one pass, up to the first difference
 */
export const jsonEqual = (left: unknown, right: unknown): boolean => {
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false
  if (Array.isArray(left) || Array.isArray(right)) {
    if (!Array.isArray(left) || !Array.isArray(right) || left.length !== right.length) return false
    for (let index = 0; index < left.length; index++) if (!jsonEqual(left[index], right[index])) return false
    return true
  }
  const keys = Object.keys(left)
  return (
    keys.length === Object.keys(right).length &&
    keys.every((key) => Object.hasOwn(right, key) && jsonEqual((left as JsonObject)[key], (right as JsonObject)[key]))
  )
}

/** A copy of plain JSON data with the keys of each object in one order, so that equal data has equal JSON text. */
export const sortKeys = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(sortKeys)
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, field]) => [name, sortKeys(field)]),
  )
}
