/** Maps of a channel (`files`), as changes to an earlier map: a new file is stored once, and not with all the others. */
import { isObject, jsonEqual, type Json, type JsonObject } from 'indelible/internal/json'

/** A change of a map: the keys that lead to a value, and the new value. Without one, the value is removed. */
export type MapChange = readonly [path: readonly string[], value?: Json]

/** The map that a serialized value is; undefined for another value, and for an object of LangChain's own. */
export const mapFromText = (text: string): JsonObject | undefined => {
  if (!text.startsWith('{') || text.startsWith('{"lc":')) return undefined
  const value = JSON.parse(text) as Json
  return isObject(value) && JSON.stringify(value) === text ? (value as JsonObject) : undefined
}

/** The changes that make one map of another; undefined if they would leave the keys in another order. */
export const mapChanges = (before: JsonObject, after: JsonObject): readonly MapChange[] | undefined => {
  const changes: MapChange[] = []
  if (!addChanges(changes, [], before, after)) return undefined
  return JSON.stringify(withChanges(before, changes)) === JSON.stringify(after) ? changes : undefined
}

/** Adds the changes of the values at a path. Returns false if they cost more than the whole. */
const addChanges = (changes: MapChange[], path: readonly string[], before: JsonObject, after: JsonObject): boolean => {
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) changes.push([[...path, key]])
  for (const [key, value] of Object.entries(after)) {
    const old = Object.hasOwn(before, key) ? before[key] : undefined
    if (old !== undefined && jsonEqual(old, value)) continue
    const at = [...path, key]
    if (isObject(old) && isObject(value) && path.length < mostDepth) {
      if (!addChanges(changes, at, old as JsonObject, value as JsonObject)) return false
    } else changes.push([at, value])
  }
  return changes.length <= mostChanges
}

const mostDepth = 8
const mostChanges = 10_000

/** A map with changes. Unchanged values are shared with the map before. */
export const withChanges = (before: JsonObject, changes: readonly MapChange[]): JsonObject => {
  const root = copyOf(before)
  const fresh = new Set<object>([root])
  for (const [path, value] of changes) {
    let at = root
    for (const key of path.slice(0, -1)) {
      const inner = at[key]
      if (isObject(inner) && fresh.has(inner)) at = inner as { [key: string]: Json }
      else {
        const copy = copyOf(isObject(inner) ? (inner as JsonObject) : {})
        fresh.add(copy)
        define(at, key, copy)
        at = copy
      }
    }
    const last = path.at(-1) as string // a path has at least one key
    if (value === undefined) delete at[last]
    else define(at, last, value)
  }
  return root
}

const copyOf = (map: JsonObject): { [key: string]: Json } => {
  const copy: { [key: string]: Json } = {}
  for (const [key, value] of Object.entries(map)) define(copy, key, value)
  return copy
}

/** Sets an own member, also one that is named `__proto__`. */
const define = (map: { [key: string]: Json }, key: string, value: Json): void =>
  void Object.defineProperty(map, key, { value, enumerable: true, writable: true, configurable: true })
