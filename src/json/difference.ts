/** The difference between two objects. */
import { jsonEqual } from './equal.ts'
import type { Json, JsonObject } from './json.ts'
import { isObject } from './own.ts'

/**
 * The fields of `value` that `other` lacks or has with another value. Of objects in both, only the
 * different fields. Undefined if there are none. Frozen.
 *
 * @param skip fields that are not compared
 * @param lacks called with the path of each field that only `other` has
 */
export const difference = (
  value: JsonObject,
  other: JsonObject,
  skip: readonly string[] = [],
  lacks?: (path: readonly string[]) => void,
  path: readonly string[] = [],
): JsonObject | undefined => {
  let found: [string, Json][] | undefined
  for (const key of Object.keys(value)) {
    if (skip.includes(key)) continue
    const mine = value[key] as Json
    if (Object.hasOwn(other, key)) {
      const theirs = other[key] as Json
      if (mine === theirs) continue
      if (isObject(mine) && isObject(theirs)) {
        const inner = difference(mine, theirs, [], lacks, [...path, key])
        if (inner !== undefined) (found ??= []).push([key, inner])
        continue
      }
      if (jsonEqual(mine, theirs)) continue
    }
    ;(found ??= []).push([key, mine])
  }
  if (lacks !== undefined)
    for (const key of Object.keys(other)) if (!skip.includes(key) && !Object.hasOwn(value, key)) lacks([...path, key])
  return found && Object.freeze(Object.fromEntries(found))
}
