/** Lists that are decoded piece by piece, because a client sends them again and again as they grow. */
import type { Either } from 'fp-ts/lib/Either.js'
import type { Json } from '../json/index.ts'
import type { Message } from '../message/index.ts'
import { decodeWire } from './admit.ts'
import type { Decoded } from './codec.ts'
import type { DecodeFault } from './fault.ts'

/** The state of reading a list. Pieces that are read one after the other give the messages of the whole list. */
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
