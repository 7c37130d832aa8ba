/** Turns any value into frozen plain JSON. Leaves that JSON text can express but a record can't hold are replaced. */
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from './either.ts'
import {
  define,
  freeze,
  getPrototypeOf,
  isArray,
  isFinite,
  isWellFormed,
  keysOf,
  objectPrototype,
  toWellFormed,
} from './builtins.ts'
import type { Json } from './json.ts'
import { arrayOf, emptyList, mapEach } from './list.ts'
import { joinPaths, type Path } from './path.ts'
import { foreignSnapshot, maxDepth, NotJson } from './snapshot.ts'

/** A leaf that was replaced. */
export interface Replaced {
  readonly path: Path
  /** The old and new value, as a clause. */
  readonly reason: string
}

/** The result of `admit`. */
export interface Admitted {
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
      const replaced = emptyList<Replaced>()
      const better = foreignSnapshot(withoutBadLeaves(value, [], replaced)) as Json
      return right({ value: better, replaced: arrayOf(replaced) })
    } catch (again) {
      return left(again instanceof NotJson ? problemOf(again) : first)
    }
  }
}

const noReplacements: readonly Replaced[] = freeze([])

const problemOf = (error: unknown): Replaced =>
  error instanceof NotJson ? { path: error.path, reason: error.reason } : { path: [], reason: 'could not be read' } // a Proxy whose traps throw

/** A copy with well-formed strings and finite numbers. Other values that are not JSON are rejected later. */
const withoutBadLeaves = (value: unknown, path: Path, replaced: Replaced[]): unknown => {
  if (typeof value === 'string') {
    if (isWellFormed(value)) return value
    replaced[replaced.length] = {
      path,
      reason: 'has half a surrogate pair, which is no character: read as U+FFFD',
    }
    return toWellFormed(value)
  }
  if (typeof value === 'number' && !isFinite(value)) {
    replaced[replaced.length] = { path, reason: `is a number out of range (${value}): read as null` }
    return null
  }
  // Deeper values are rejected later by a walk that can't overflow the stack.
  if (typeof value !== 'object' || value === null || path.length > maxDepth) return value
  if (isArray(value)) return mapEach(value, (item, index) => withoutBadLeaves(item, joinPaths(path, [index]), replaced))
  const prototype = getPrototypeOf(value)
  if (prototype !== objectPrototype && prototype !== null) return value
  const copy = {}
  const keys = keysOf(value)
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] as string
    const read = toWellFormed(key)
    const at = joinPaths(path, [read])
    if (read !== key)
      replaced[replaced.length] = { path: at, reason: 'is a key with half a surrogate pair: read as U+FFFD' }
    define(copy, read, withoutBadLeaves((value as { readonly [key: string]: unknown })[key], at, replaced))
  }
  return copy
}
