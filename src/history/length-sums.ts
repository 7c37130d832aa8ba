/** JSON lengths of messages, and their sums. */
import { jsonLength, type Json } from '../json/index.ts'

/** Sums of JSON lengths, in UTF-16 units. */
export interface LengthSums {
  readonly length: number
  /** The sum in which each message counts at most {@link mostCounted}. */
  readonly counted: number
}

/** The most that one message counts where contexts look for a place to start anew: one large result must not start several. */
export const mostCounted = 14_000

/** Cost: O(values in the messages), whatever the length of their strings. */
export const lengthsIn = (messages: readonly unknown[], from = 0, to: number = messages.length): Uint32Array => {
  const lengths = new Uint32Array(to - from)
  for (let index = from; index < to; index++) lengths[index - from] = jsonLength(messages[index] as Json)
  return lengths
}

export const lengthSums = (lengths: Uint32Array): LengthSums => {
  let [length, counted] = [0, 0]
  for (const own of lengths) {
    length += own
    counted += Math.min(own, mostCounted)
  }
  return { length, counted }
}
