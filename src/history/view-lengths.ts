/** How long the content of the messages of a record is. A chunk is summed when it fills up, or from its texts, without parsing them. */
import { positionOfRank, rankAt, runLengthAt } from '../sequence/index.ts'
import { lengthsIn, lengthSums, type LengthSums } from './content-length.ts'
import { partOf } from './read.ts'
import { chunkLength, chunkWith, messagesFrom, type Chunk } from './state.ts'
import type { View } from './view.ts'

/** Adjacent messages of a view, and the lengths of their content. */
export interface MeasuredRun extends LengthSums {
  /** The number of messages. */
  readonly count: number
  /** The length of each. */
  readonly lengths: () => Iterable<number> & ArrayLike<number>
}

/**
 * The lengths of the content of a view's messages from an index on, in runs.
 *
 * Cost    O(messages / chunk); for a chunk of texts that were not read O(texts), once
 *
 * @throws TypeError if this library did not make the view
 */
export function* contentLengths<M>(view: View<M>, from: number): Generator<MeasuredRun> {
  const part = partOf<M>(view)
  if (part === undefined) throw new TypeError('expected a view from a history of this library')
  const { content, gaps, start, end } = part
  const last = rankAt(gaps, end)
  for (let rank = rankAt(gaps, start) + from; rank < last;) {
    const most = Math.min(last - rank, runLengthAt(gaps, rank))
    const position = positionOfRank(gaps, rank)
    const found = chunkWith(content, position)
    let run: MeasuredRun
    if (found === undefined) {
      const { values, index, count } = messagesFrom(content, position, most)
      run = runOf(lengthsIn(values, index, index + count))
    } else if (found.index === 0 && most >= chunkLength) run = runOfChunk(found.chunk)
    else run = runOf(lengthsOf(found.chunk).subarray(found.index, found.index + most))
    yield run
    rank += run.count
  }
}

const runOf = (lengths: Uint32Array): MeasuredRun => ({
  count: lengths.length,
  ...lengthSums(lengths),
  lengths: () => lengths,
})

const runOfChunk = (chunk: Chunk<unknown>): MeasuredRun => ({
  count: chunkLength,
  ...(chunk.sums ?? lengthSums(lengthsOf(chunk))),
  lengths: () => lengthsOf(chunk),
})

const known = new WeakMap<Chunk<unknown>, Uint32Array>()

const lengthsOf = (chunk: Chunk<unknown>): Uint32Array => {
  let lengths = known.get(chunk)
  if (lengths === undefined) {
    lengths = chunk.contentLengths?.() ?? lengthsIn(chunk.messages)
    known.set(chunk, lengths)
  }
  return lengths
}
