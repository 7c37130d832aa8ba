/** The common part of `decode`: any value comes in; plain frozen JSON, read by a codec, or a fault goes out. */
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
 * The common body of `decode`: makes a frozen copy of `wire`, calls the reader, and turns what the reader throws into
 * a fault. The reader adds the fields of a body that are not part of the conversation to `beside`.
 *
 * Half a surrogate pair and numbers out of range, which JSON text can express but a record can't hold, become U+FFFD
 * and null. Each is a loss with its place.
 *
 * @param listAt the path to the list of messages
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

/**
 * The state of reading a list piece by piece, because a client sends it again and again as it grows. Pieces that are read one after the other give the
 * messages of the whole list.
 */
export interface ListReading {
  readonly format: string
  /**
   * Read the next elements. Throws Unexpected.
   *
   * @param isEnd whether they end the list
   * @returns all messages so far
   */
  readonly read: (list: readonly Json[], isEnd: boolean) => readonly Message[]
  /** The same state, to continue in another way. */
  readonly copy: () => ListReading
}

/** Decode the next elements of a list: untrusted data. After a fault the reading is of no more use. */
export const decodeNext = (
  reading: ListReading,
  list: readonly unknown[],
  isEnd: boolean,
): Either<DecodeFault, Decoded> =>
  decodeWire(reading.format, list, (value) => [...reading.read(value as readonly Json[], isEnd)])

/** A loss for every unknown field of a body. */
export const lossesForUnread = (
  body: JsonObject,
  known: readonly string[],
  of: 'request' | 'response',
): readonly Loss[] =>
  Object.keys(body)
    .filter((field) => !known.includes(field))
    .map((field) =>
      Object.freeze({
        position: 0,
        path: Object.freeze([field]),
        reason: `belongs to the ${of}, not to the conversation`,
      }),
    )

const lossAt = ({ path, reason }: Replaced, listAt: Path): Loss => {
  const [position, ...inner] = listAt.every((step, index) => path[index] === step) ? path.slice(listAt.length) : []
  return Object.freeze(typeof position === 'number' ? { position, path: inner, reason } : { position: 0, path, reason })
}
