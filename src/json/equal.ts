/**
 * Whether two values of plain JSON data are equal as JSON: same types, same elements, same keys in any order.
 *
 * Cost    one pass over the smaller difference; stops at the first one
 */
import type { Json } from './json.ts'

export const jsonEqual = (left: Json, right: Json): boolean => {
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false
  if (isArray(left) || isArray(right)) {
    if (!isArray(left) || !isArray(right) || left.length !== right.length) return false
    for (let index = 0; index < left.length; index++)
      if (!jsonEqual(left[index] as Json, right[index] as Json)) return false
    return true
  }
  const keys = Object.keys(left)
  if (keys.length !== Object.keys(right).length) return false
  return keys.every((key) => Object.hasOwn(right, key) && jsonEqual(left[key] as Json, right[key] as Json))
}

const isArray: (value: Json) => value is readonly Json[] = Array.isArray
