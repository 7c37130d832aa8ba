/** Writes JSON data like `JSON.stringify`, but without calling a `toJSON` added to a prototype. */
import type { Json, JsonObject } from './json.ts'

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
