/**
 * Sizes, the second step: how much each message of a record is, whatever counts its tokens. Where contexts start anew depends on
 * nothing else, so no state is needed to find it again. The lengths come from the chunks of the record, which know them without
 * parsing their messages.
 */
import type { View } from '../../history/index.ts'
import { jsonLengths } from '../../history/internal.ts'
import type { Message } from '../../message/index.ts'
import { countWhile } from '../../sequence/index.ts'

/** The sizes of the messages of a view, summed: in tokens of 3.5 characters of JSON. */
export interface Sizes {
  /** Before each index, the size of all messages. */
  readonly before: readonly number[]
  /** The same, where each message counts at most {@link mostCounted}. */
  readonly cappedBefore: readonly number[]
}

/** One large result must not start several epochs. */
const mostCounted = 4000
const charactersPerToken = 3.5

/**
 * The sizes of a view.
 *
 * @param known those of a shorter view of the same record; they become those of this view
 */
export const sizesOf = (view: View<Message>, known?: Sizes): Sizes => {
  const [before, cappedBefore] =
    known === undefined ? [[0], [0]] : [known.before as number[], known.cappedBefore as number[]]
  let [whole, capped] = [before.at(-1) as number, cappedBefore.at(-1) as number]
  for (const lengths of jsonLengths(view, before.length - 1))
    for (const length of lengths) {
      const size = length / charactersPerToken
      before.push((whole += size))
      cappedBefore.push((capped += Math.min(size, mostCounted)))
    }
  return { before, cappedBefore }
}

/** The least index with more than a size before it; one more than the number of messages, if there is none. */
export const indexAbove = (sums: readonly number[], size: number): number =>
  countWhile(sums.length, (index) => (sums[index] as number) <= size)
