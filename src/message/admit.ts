/** The border of every codec: anything at all comes in, plain frozen JSON or a fault goes on. */
import { isLeft, left, right, type Either } from 'fp-ts/lib/Either.js'
import { admit, type Json, type Path, type Replaced } from '../json/index.ts'
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
  if (isLeft(admitted)) return left({ _tag: 'WireNotJson', format, ...admitted.left })
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
