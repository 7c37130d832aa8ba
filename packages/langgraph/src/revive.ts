/**
 * Creates LangChain messages from JSON. LangGraph's serializer walks each property of each message twice,
 * with an await each time. Here the serializer creates the first message of each shape; if its class,
 * called with the same fields, creates an equal one, the class creates the other messages of that shape.
 */
import type { SerializerProtocol } from '@langchain/langgraph-checkpoint'
import { isArray, isObject, type Json, type JsonObject } from 'indelible/internal/json'

type Fields = { [key: string]: unknown }
type Make = new (fields: Fields) => object

/** Creates messages from JSON. */
export class Reviver {
  /** By shape: the class that creates its messages, or `null` if only the serializer can. */
  readonly #makes = new Map<string, Make | null>()

  /** The value that LangGraph's serializer loads from this JSON, at once or as a promise. */
  revive(value: Json, serde: SerializerProtocol): unknown {
    const shape = shapeOf(value)
    const fields = shape === undefined ? undefined : copyOf((value as JsonObject)['kwargs'] as Json, 0)
    if (shape === undefined || fields === undefined) return loadValue(value, serde)
    const make = this.#makes.get(shape)
    if (make === undefined) return this.#learn(shape, value, fields as Fields, serde)
    return make === null ? loadValue(value, serde) : new make(fields as Fields)
  }

  async #learn(shape: string, value: Json, fields: Fields, serde: SerializerProtocol): Promise<unknown> {
    const made = await loadValue(value, serde)
    if (this.#makes.size < mostShapes) this.#makes.set(shape, classOf(made, fields))
    return made
  }
}

const loadValue = (value: Json, serde: SerializerProtocol): Promise<unknown> =>
  serde.loadsTyped('json', JSON.stringify(value))

/** The most shapes to remember. A thread has a few. */
const mostShapes = 1000

/** The class and field names of a message; undefined if it is not a message. */
const shapeOf = (value: Json): string | undefined => {
  if (!isObject(value) || Object.keys(value).length !== 4) return undefined
  const { lc, type, id, kwargs } = value as JsonObject
  if (lc !== 1 || type !== 'constructor' || !isArray(id) || id[1] !== 'messages' || !isObject(kwargs)) return undefined
  return JSON.stringify([id, Object.keys(kwargs)])
}

/** A mutable copy; undefined if the serializer would find more than plain data in it. */
const copyOf = (value: Json, depth: number): unknown => {
  if (typeof value !== 'object' || value === null) return value
  if (depth > deepest) return undefined
  if (isArray(value)) {
    const items: unknown[] = []
    for (const item of value as readonly Json[]) {
      const copy = copyOf(item, depth + 1)
      if (copy === undefined) return undefined
      items.push(copy)
    }
    return items
  }
  const fields: Fields = {}
  for (const key of Object.keys(value)) {
    if (key === 'lc' || key === '__lc_escaped__' || key === '__proto__') return undefined
    const copy = copyOf((value as JsonObject)[key] as Json, depth + 1)
    if (copy === undefined) return undefined
    fields[key] = copy
  }
  return fields
}

/** LangChain refuses values nested deeper than 50. */
const deepest = 40

const classOf = (made: unknown, fields: Fields): Make | null => {
  const { constructor } = Object.getPrototypeOf(made) as { readonly constructor: Make }
  try {
    return isAlike(new constructor(fields), made) ? constructor : null
  } catch {
    return null // let the serializer report the error
  }
}

const isAlike = (a: unknown, b: unknown): boolean => {
  if (Object.is(a, b)) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isAlike((a as Fields)[key], (b as Fields)[key]))
  )
}
