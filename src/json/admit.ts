/** Anything at all comes in, plain frozen JSON goes on: what JSON text can spell and a record can't hold is replaced. */
import { left, right, type Either } from 'fp-ts/lib/Either.js'
import type { Json } from './json.ts'
import type { Path } from './path.ts'
import { maxDepth, NotJson, snapshot } from './snapshot.ts'

/** A leaf that is no JSON, and what was read in its place. */
export interface Replaced {
  readonly path: Path
  readonly reason: string
}

export interface Admitted {
  readonly value: Json
  /** Mostly empty. */
  readonly replaced: readonly Replaced[]
}

/**
 * A frozen copy of anything that is JSON but for some leaves: half a surrogate pair becomes U+FFFD and a number out of
 * range null, each named in `replaced`. Left: where it is no JSON otherwise.
 *
 * Cost    that of `snapshot`; twice as much where something is replaced
 */
export const admit = (value: unknown): Either<Replaced, Admitted> => {
  try {
    return right({ value: snapshot(value) as Json, replaced: [] })
  } catch (error) {
    const first = problemOf(error)
    try {
      const replaced: Replaced[] = []
      return right({ value: snapshot(withoutBadLeaves(value, [], replaced)) as Json, replaced })
    } catch (again) {
      return left(again instanceof NotJson ? problemOf(again) : first)
    }
  }
}

const problemOf = (error: unknown): Replaced =>
  error instanceof NotJson ? { path: error.path, reason: error.reason } : { path: [], reason: 'could not be read' } // a Proxy whose traps throw

/** A copy in which no string has a lone surrogate and no number is out of range. What else is not JSON stays, to be refused. */
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
  // Deeper than that is refused afterwards in any case, by a walk that does not run out of stack.
  if (typeof value !== 'object' || value === null || path.length > maxDepth) return value
  if (Array.isArray(value)) return value.map((item, index) => withoutBadLeaves(item, [...path, index], replaced))
  if (Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      if (!key.isWellFormed()) replaced.push({ path: [...path, key.toWellFormed()], reason: 'is a key with half a surrogate pair: read as U+FFFD' })
      return [key.toWellFormed(), withoutBadLeaves(item, [...path, key.toWellFormed()], replaced)]
    }),
  )
}
