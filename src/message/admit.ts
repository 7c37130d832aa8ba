/** The border of every codec: anything at all comes in, plain frozen JSON or a fault goes on. */
import { isLeft, left, right, type Either } from 'fp-ts/lib/Either.js'
import { NotJson, snapshot, type Json, type Path } from '../json/index.ts'
import type { CodecFault } from './codec-fault.ts'
import type { Decoded, Loss } from './codec.ts'
import type { Message } from './message.ts'
import { Unexpected } from './wire.ts'

/**
 * The body of a `decode`: takes a frozen copy of `wire`, has it read, and turns what the reader throws into a fault.
 *
 * Half a surrogate pair and numbers out of range, which JSON text can spell and a record can't hold, become U+FFFD and
 * null, each a loss that names the place.
 *
 * @param listAt where the list of messages is: the first steps of a path before the position
 */
export const decodeWire = (
  format: string,
  wire: unknown,
  read: (wire: Json) => readonly Message[],
  listAt: Path | ((wire: Json) => Path) = [],
): Either<CodecFault, Decoded> => {
  const admitted = admit(wire)
  if (isLeft(admitted)) return left({ ...admitted.left, format })
  const { value, replaced } = admitted.right
  const at = typeof listAt === 'function' ? listAt(value) : listAt
  try {
    return right(Object.freeze({ messages: Object.freeze(read(value)), losses: Object.freeze(replaced.map((found) => lossAt(found, at))) }))
  } catch (error) {
    if (error instanceof Unexpected) return left({ _tag: 'UnexpectedWire', format, path: error.path, expected: error.expected, found: error.found })
    throw error
  }
}

const lossAt = ({ path, reason }: Replaced, listAt: Path): Loss => {
  const [position, ...inner] = listAt.every((step, index) => path[index] === step) ? path.slice(listAt.length) : []
  return Object.freeze(typeof position === 'number' ? { position, path: inner, reason } : { position: 0, path, reason })
}

interface Replaced {
  readonly path: Path
  readonly reason: string
}

/** A frozen copy of anything that is JSON but for some leaves, with what was put in their place. */
const admit = (wire: unknown): Either<CodecFault & { readonly _tag: 'WireNotJson' }, { readonly value: Json; readonly replaced: readonly Replaced[] }> => {
  try {
    return right({ value: snapshot(wire) as Json, replaced: [] })
  } catch (error) {
    const first = problemOf(error)
    try {
      const replaced: Replaced[] = []
      return right({ value: snapshot(withoutBadLeaves(wire, [], replaced)) as Json, replaced })
    } catch (again) {
      return left({ _tag: 'WireNotJson', format: '', ...(again instanceof NotJson ? problemOf(again) : first) })
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
  // Deeper than that is refused below in any case, by a walk that does not run out of stack.
  if (typeof value !== 'object' || value === null || path.length > 1000) return value
  if (Array.isArray(value)) return value.map((item, index) => withoutBadLeaves(item, [...path, index], replaced))
  if (Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      if (!key.isWellFormed()) replaced.push({ path: [...path, key.toWellFormed()], reason: 'is a key with half a surrogate pair: read as U+FFFD' })
      return [key.toWellFormed(), withoutBadLeaves(item, [...path, key.toWellFormed()], replaced)]
    }),
  )
}
