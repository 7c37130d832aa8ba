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

/** The sums of a record, continued where its views grow. Found by its first message, which all its views share. */
const known = new WeakMap<Message, Sums>()

const sumsOf = (view: View<Message>): Sums => {
  const first = view.at(0)
  if (first === undefined) return { whole: [0], capped: [0], messages: [] }
  let sums = known.get(first)
  const shared = Math.min(sums?.messages.length ?? 0, view.length)
  // A fork, or a conversation with other retractions.
  if (sums === undefined || view.at(shared - 1) !== sums.messages[shared - 1])
    known.set(first, (sums = { whole: [0], capped: [0], messages: [] }))
  for (let index = sums.messages.length; index < view.length; index++) {
    const message = view.at(index) as Message
    const size = utf8Length(JSON.stringify(message)) / bytesPerToken
    sums.messages.push(message)
    sums.whole.push((sums.whole[index] as number) + size)
    sums.capped.push((sums.capped[index] as number) + Math.min(size, mostCounted))
  }
  return sums
}

/** The bytes of a text in UTF-8. */
const utf8Length = (text: string): number => {
  let length = text.length
  for (const { length: units } of text.match(beyondAscii) ?? []) length += units
  for (const { length: units } of text.match(threeBytes) ?? []) length += units
  return length
}

/** A surrogate is half of a pair of four bytes, so two each. */
const beyondAscii = /[^\0-\x7f]+/g
const threeBytes = /[\u0800-\ud7ff\ue000-\uffff]+/g
