/** The border of every codec: anything at all comes in, plain frozen JSON or a fault goes on. */
import type { Either } from 'fp-ts/lib/Either.js'
import {
  admit,
  isLeft,
  type Json,
  type JsonObject,
  left,
  type Path,
  type Replaced,
  right,
  Unexpected,
} from '../json/index.ts'
import type { DecodeFault } from './fault.ts'
import type { Decoded, Loss } from './codec.ts'
import type { Message } from '../message/index.ts'

/**
 * The body of a `decode`: takes a frozen copy of `wire`, has it read, and turns what the reader throws into a fault. The
 * reader adds to `beside` what of a body is not of the conversation.
 *
 * Half a surrogate pair and numbers out of range, which JSON text can spell and a record can't hold, become U+FFFD and
 * null, each a loss that names the place.
 *
 * @param listAt where the list of messages is: the first steps of a path before the position
 */
export const decodeWire = (
  format: string,
  wire: unknown,
  read: (wire: Json, beside: Loss[]) => readonly Message[],
  listAt: Path | ((wire: Json) => Path) = [],
): Either<DecodeFault, Decoded> => {
  const admitted = admit(wire)
  if (isLeft(admitted)) return left({ _tag: 'WireNotJson', format, ...admitted.left })
  const { value, replaced } = admitted.right
  const at = typeof listAt === 'function' ? listAt(value) : listAt
  const beside: Loss[] = []
  try {
    const messages = Object.freeze(read(value, beside))
    return right(
      Object.freeze({ messages, losses: Object.freeze([...beside, ...replaced.map((found) => lossAt(found, at))]) }),
    )
  } catch (error) {
    if (error instanceof Unexpected)
      return left({ _tag: 'UnexpectedWire', format, path: error.path, expected: error.expected, found: error.found })
    throw error
  }
}

/** A loss for each field of a body but those that are read. */
export const lossesBeside = (body: JsonObject, known: readonly string[], of: 'request' | 'response'): readonly Loss[] =>
  Object.keys(body)
    .filter((field) => !known.includes(field))
    .map((field) =>
      Object.freeze({
        position: 0,
        path: Object.freeze([field]),
        reason: `is of the ${of}, not of the conversation`,
      }),
    )

const lossAt = ({ path, reason }: Replaced, listAt: Path): Loss => {
  const [position, ...inner] = listAt.every((step, index) => path[index] === step) ? path.slice(listAt.length) : []
  return Object.freeze(typeof position === 'number' ? { position, path: inner, reason } : { position: 0, path, reason })
}
