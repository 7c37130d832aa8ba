/** Turns any value into frozen plain JSON. Leaves that JSON text can express but a record can't hold are replaced. */
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from '../either/index.ts'
import { define } from './own.ts'
import type { Json } from './json.ts'
import type { Path } from './path.ts'
import { foreignSnapshot, maxDepth, NotJson } from './snapshot.ts'

/** A leaf that was replaced. */
export interface Replaced {
  readonly path: Path
  /** The old and new value, as a clause. */
  readonly reason: string
}

/** The result of `admit`. */
interface Admitted {
  readonly value: Json
  /** The replaced leaves. Usually empty. */
  readonly replaced: readonly Replaced[]
}

/**
 * A frozen copy of an untrusted value (see `isPolluted`). A lone surrogate becomes U+FFFD, a number
 * out of range null, and `replaced` lists both. Left: any other value that is not JSON.
 *
 * Cost    that of `snapshot`; twice that if something is replaced
 */
export const admit = (value: unknown): Either<Replaced, Admitted> => {
  try {
    return right({ value: foreignSnapshot(value) as Json, replaced: noReplacements })
  } catch (error) {
    const first = problemOf(error)
    try {
      const replaced: Replaced[] = []
      const better = foreignSnapshot(withoutBadLeaves(value, [], replaced)) as Json
      return right({ value: better, replaced: Object.freeze(replaced) })
    } catch (again) {
      return left(again instanceof NotJson ? problemOf(again) : first)
    }
  }
}

const noReplacements: readonly Replaced[] = Object.freeze([])

const problemOf = (error: unknown): Replaced =>
  error instanceof NotJson ? { path: error.path, reason: error.reason } : { path: [], reason: 'could not be read' } // a Proxy whose traps throw

/** A copy with well-formed strings and finite numbers. Other values that are not JSON are rejected later. */
const withoutBadLeaves = (value: unknown, path: Path, replaced: Replaced[]): unknown => {
  if (typeof value === 'string') {
    if (value.isWellFormed()) return value
    replaced.push({ path, reason: 'has half a surrogate pair, which is no character: read as U+FFFD' })
    return value.toWellFormed()
  }
  if (typeof value === 'number' && !Number.isFinite(value)) {
    replaced.push({ path, reason: `is a number out of range (${value}): read as null` })
    return null
  }
  // Deeper values are rejected later by a walk that can't overflow the stack.
  if (typeof value !== 'object' || value === null || path.length > maxDepth) return value
  if (Array.isArray(value)) return value.map((item, index) => withoutBadLeaves(item, [...path, index], replaced))
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  const copy = {}
  for (const [key, item] of Object.entries(value)) {
    const read = key.toWellFormed()
    const at = [...path, read]
    if (read !== key) replaced.push({ path: at, reason: 'is a key with half a surrogate pair: read as U+FFFD' })
    define(copy, read, withoutBadLeaves(item, at, replaced))
  }
  return copy
}
