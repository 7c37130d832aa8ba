/** Converts live values of `ai` to JSON: `URL` objects, bytes, dates and undefined fields. */
import type { Either } from 'fp-ts/lib/Either.js'
import { base64Of, isLeft, type Json, maxDepth } from 'indelible/internal/json'
import { decodeWire } from 'indelible/internal/codecs'
import type { DecodeFault, Decoded } from 'indelible/codecs'
import type { Message } from 'indelible/message'

/** `decodeWire` for JSON and for live values. JSON input has no extra cost. */
export const decodeLive = (
  format: string,
  wire: unknown,
  read: (wire: Json) => readonly Message[],
): Either<DecodeFault, Decoded> => {
  const decoded = decodeWire(format, wire, read)
  if (!isLeft(decoded) || decoded.left._tag !== 'WireNotJson') return decoded
  try {
    return decodeWire(format, jsonForm(wire, 0, new Map()), read)
  } catch {
    return decoded // user code (a trap or `toJSON`) threw; the first fault already names the value that is not JSON
  }
}

/**
 * The value as `JSON.stringify` would write it, except that bytes become base64, which `ai` accepts
 * instead. Values without a JSON form are left, to be rejected.
 */
const jsonForm = (value: unknown, depth: number, seen: Map<object, unknown>): unknown => {
  if (typeof value !== 'object' || value === null || depth > maxDepth) return value
  if (seen.has(value)) return seen.get(value)
  const form = formOf(value, depth, seen)
  seen.set(value, form)
  return form
}

const formOf = (value: object, depth: number, seen: Map<object, unknown>): unknown => {
  if (Array.isArray(value))
    return value.map((item: unknown) => (item === undefined ? null : jsonForm(item, depth + 1, seen)))
  const bytes = bytesOf(value)
  if (bytes !== undefined) return base64Of(bytes)
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null)
    return 'toJSON' in value && typeof value.toJSON === 'function' ? jsonForm(value.toJSON(), depth + 1, seen) : value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]: [string, unknown]) =>
      item === undefined ? [] : [[key, jsonForm(item, depth + 1, seen)]],
    ),
  )
}

/** Checked by tag, which also works for values of other realms. */
const bytesOf = (value: object): Uint8Array | undefined => {
  const tag = Object.prototype.toString.call(value)
  if (tag === '[object Uint8Array]') return value as Uint8Array
  return tag === '[object ArrayBuffer]' ? new Uint8Array(value as ArrayBuffer) : undefined
}
