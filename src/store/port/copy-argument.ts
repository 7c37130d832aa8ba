/** Copies arguments before a call returns, so that the caller may change them afterwards. */
import { ownField } from '../../json/index.ts'
import { isPlanned } from './plan.ts'

/**
 * A deep copy of the arrays, plain objects and bytes of an argument. Functions and class instances are not
 * copied. Neither are planned rows: they belong to the library, which recognizes them by their array.
 */
export const copyArgument = <T>(input: T): T => copyOf(input) as T // the same type, field by field

const copyOf = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Uint8Array) return new Uint8Array(value)
  if (Array.isArray(value)) return Array.from(value, copyOf)
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  const copy: Record<string, unknown> = { ...value }
  if (isPlanned(ownField(copy, 'rows'))) return copy
  for (const key of Object.keys(copy)) copy[key] = copyOf(copy[key])
  return copy
}
