/** Arguments, copied before a call returns: whoever gave them may change theirs. */
import { ownField } from '../../json/index.ts'
import { isPlanned } from './plan.ts'

/**
 * A copy of the arrays, plain objects and bytes of an argument, all the way down. Functions and instances of classes pass,
 * and so does an append whose rows were planned: they are the library's, and are recognised by their array.
 *
 * @param given the argument
 */
export const copyArgument = <T>(given: T): T => copyOf(given) as T // the same, member by member

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
