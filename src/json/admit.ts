/** Anything at all comes in, plain frozen JSON goes on: what JSON text can spell and a record can't hold is replaced. */
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

/** A leaf that is no JSON, and what was read in its place. */
export interface Replaced {
  /** Where it stood. */
  readonly path: Path
  /** What it was, and what was read in its place: a clause. */
  readonly reason: string
}

/** A value that came in. */
export interface Admitted {
  /** A frozen copy. */
  readonly value: Json
  /** Mostly empty. */
  readonly replaced: readonly Replaced[]
}

/**
 * A frozen copy of anything foreign that is JSON but for some leaves (see `isPolluted`): half a surrogate pair becomes U+FFFD and a number out of
 * range null, each named in `replaced`. Left: where it is no JSON otherwise.
 *
 * Cost    that of `snapshot`; twice as much where something is replaced
 */
export const admit = (value: unknown): Either<Replaced, Admitted> => {
  try {
    return right({ value: foreignSnapshot(value) as Json, replaced: none })
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

const none: readonly Replaced[] = freeze([])

const problemOf = (error: unknown): Replaced =>
  error instanceof NotJson ? { path: error.path, reason: error.reason } : { path: [], reason: 'could not be read' } // a Proxy whose traps throw

/** A copy in which no string has a lone surrogate and no number is out of range. What else is not JSON stays, to be refused. */
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
  // Deeper than that is refused afterwards in any case, by a walk that does not run out of stack.
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
