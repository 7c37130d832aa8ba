/** Writes JSON data like `JSON.stringify`, but without calling a `toJSON` added to a prototype. */
import { arrayPrototype, getPrototypeOf, hasOwn, isArray, keysOf, objectPrototype, stringify } from './builtins.ts'
import type { Json } from './json.ts'

/**
 * The text of plain JSON data.
 *
 * Cost    `JSON.stringify`; several times that if a prototype of objects or arrays has a `toJSON`
 */
export const textOfJson = (value: Json): string =>
  getPrototypeOf(arrayPrototype) === objectPrototype &&
  !hasOwn(arrayPrototype, 'toJSON') &&
  !hasOwn(objectPrototype, 'toJSON')
    ? stringify(value) // an own `toJSON` is data, and so not a function
    : stringifyWithoutToJson(value)

const stringifyWithoutToJson = (value: Json): string => {
  if (typeof value !== 'object' || value === null) return stringify(value)
  let text = ''
  if (isArray(value)) {
    for (let index = 0; index < value.length; index++)
      text += `${index === 0 ? '' : ','}${stringifyWithoutToJson(value[index] as Json)}`
    return `[${text}]`
  }
  const keys = keysOf(value)
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] as string
    text += `${index === 0 ? '' : ','}${stringify(key)}:${stringifyWithoutToJson(value[key] as Json)}`
  }
  return `{${text}}`
}
