/** How long the messages of a record are. Each chunk is measured once, and without parsing it. */
import { jsonLength, type Json } from '../json/index.ts'
import { positionOfRank, rankAt, runLengthAt, type Piece } from '../sequence/index.ts'
import { partOf } from './read.ts'
import { chunkWith, messagesFrom, type Chunk } from './state.ts'
import type { View } from './view.ts'

/**
 * The JSON lengths of a view's messages from an index on, in pieces.
 *
 * Cost    O(messages); once for each chunk `jsonLength` of its messages, or of their texts if they were not read
 *
 * @throws TypeError if this library did not make the view
 */
export function* jsonLengths<M>(view: View<M>, from: number): Generator<Uint32Array> {
  const part = partOf<M>(view)
  if (part === undefined) throw new TypeError('expected a view from a history of this library')
  const { content, gaps, start, end } = part
  const last = rankAt(gaps, end)
  for (let rank = rankAt(gaps, start) + from; rank < last;) {
    const most = Math.min(last - rank, runLengthAt(gaps, rank))
    const position = positionOfRank(gaps, rank)
    const found = chunkWith(content, position)
    const lengths =
      found === undefined
        ? measured(messagesFrom(content, position, most))
        : lengthsOf(found.chunk).subarray(found.index, found.index + most)
    yield lengths
    rank += lengths.length
  }
}

const measured = ({ values, index, count }: Piece<unknown>): Uint32Array => {
  const lengths = new Uint32Array(count)
  for (let at = 0; at < count; at++) lengths[at] = jsonLength(values[index + at] as Json)
  return lengths
}

const known = new WeakMap<Chunk<unknown>, Uint32Array>()

const lengthsOf = (chunk: Chunk<unknown>): Uint32Array => {
  let lengths = known.get(chunk)
  if (lengths === undefined) {
    lengths = chunk.jsonLengths?.() ?? measured({ values: chunk.messages, index: 0, count: chunk.messages.length })
    known.set(chunk, lengths)
  }
  return lengths
}
