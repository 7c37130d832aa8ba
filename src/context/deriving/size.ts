/**
 * Sizes, the second step: how much each message of a record is, whatever counts its tokens. Where contexts start anew depends on
 * nothing else, so no state is needed to find it again.
 */
import type { View } from '../../history/index.ts'
import type { Message } from '../../message/index.ts'

/** The sizes of the messages of a view, in tokens of 3.8 bytes of JSON. */
export interface Sizes {
  /** The size of the first `index` messages. */
  readonly before: (index: number) => number
  /** The same, where each message counts at most {@link mostCounted}. */
  readonly cappedBefore: (index: number) => number
  /** The least index with more than a size before it, or `length + 1`. */
  readonly indexAbove: (size: number) => number
  /** The same for capped sizes. */
  readonly indexAboveCapped: (size: number) => number
}

/** One large result must not start several epochs. */
const mostCounted = 4000
const bytesPerToken = 3.8

export const sizesOf = (view: View<Message>): Sizes => {
  const { whole, capped } = sumsOf(view)
  const above = (sums: readonly number[], size: number): number => {
    let [low, high] = [0, view.length + 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((sums[middle] as number) > size) high = middle
      else low = middle + 1
    }
    return low
  }
  return {
    before: (index) => whole[index] as number,
    cappedBefore: (index) => capped[index] as number,
    indexAbove: (size) => above(whole, size),
    indexAboveCapped: (size) => above(capped, size),
  }
}

interface Sums {
  readonly whole: number[]
  readonly capped: number[]
  readonly messages: Message[]
}

let latest: Sums = { whole: [0], capped: [0], messages: [] }

const sumsOf = (view: View<Message>): Sums => {
  const { length } = latest.messages
  const shared = Math.min(length, view.length)
  if (shared > 0 && (view.at(shared - 1) !== latest.messages[shared - 1] || view.at(0) !== latest.messages[0]))
    latest = { whole: [0], capped: [0], messages: [] }
  for (let index = latest.messages.length; index < view.length; index++) {
    const message = view.at(index) as Message
    const size = JSON.stringify(message).length / bytesPerToken
    latest.messages.push(message)
    latest.whole.push((latest.whole[index] as number) + size)
    latest.capped.push((latest.capped[index] as number) + Math.min(size, mostCounted))
  }
  return latest
}
