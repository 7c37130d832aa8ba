/** Values as code that calls `ai` holds them: with `URL` objects, bytes, dates, and fields that are undefined. */
import type { Either } from 'fp-ts/lib/Either.js'
import { base64Of, isLeft, type Json, maxDepth } from '../../json/index.ts'
import { decodeWire } from '../admit.ts'
import type { DecodeFault } from '../fault.ts'
import type { Decoded } from '../codec.ts'
import type { Message } from '../../message/index.ts'

/** `decodeWire`, which only knows JSON, for wire that is JSON or live. JSON pays nothing for it. */
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
    return decoded // code of the caller's ran (a trap, a toJSON) and threw: what is not JSON was named before
  }
}

/**
 * The value as `JSON.stringify` would write it, but that bytes become base64, which is what `ai` takes in their place.
 * What JSON has no form for stays, to be refused.
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

/** By their tag, so that those of another realm count too. */
const bytesOf = (value: object): Uint8Array | undefined => {
  const tag = Object.prototype.toString.call(value)
  if (tag === '[object Uint8Array]') return value as Uint8Array
  return tag === '[object ArrayBuffer]' ? new Uint8Array(value as ArrayBuffer) : undefined
}
