/**
 * Sizes, the second step: how much each message of a record is, whatever counts its tokens. Where contexts start anew depends on
 * nothing else, so no state is needed to find it again. The chunks of the record know their sums, and only those in which an
 * index is looked for are measured message by message.
 */
import type { View } from '../../history/index.ts'
import { chunkLength, contentLengths, mostCounted, type MeasuredRun } from '../../history/internal.ts'
import type { Message } from '../../message/index.ts'
import { countWhile } from '../../sequence/index.ts'

/** The index of a message, and the characters of all messages before it: in full, and with at most `mostCounted` of each. */
type Place = Pick<MeasuredRun, 'length' | 'counted'> & { readonly from: number }

/** The sizes of the messages of a view, in tokens of 3.7 characters of JSON without `meta`, which no model is sent. They grow with the record. */
export class Sizes {
  /** Adjacent messages, and where they begin. */
  readonly #runs: (Place & Pick<MeasuredRun, 'lengths'>)[] = []
  #end: Place = { from: 0, length: 0, counted: 0 }
  /** The lengths of the last run, unless it is a whole chunk: more messages are added to it. */
  #last: number[] | undefined

  /** How many messages were measured. */
  get count(): number {
    return this.#end.from
  }

  /** Measures the rest of a view. Those measured before are its first messages. */
  measure(view: View<Message>): this {
    for (const { count, length, counted, lengths } of contentLengths(view, this.count)) {
      if (count === chunkLength) {
        this.#last = undefined
        this.#runs.push({ ...this.#end, lengths })
      } else {
        let last = this.#last
        if (last === undefined || last.length >= chunkLength) {
          const added: number[] = []
          this.#runs.push({ ...this.#end, lengths: () => added })
          this.#last = last = added
        }
        last.push(...lengths())
      }
      const { from, length: before, counted: countedBefore } = this.#end
      this.#end = { from: from + count, length: before + length, counted: countedBefore + counted }
    }
    return this
  }

  /** The size of all messages, where each counts at most 4,000. */
  get counted(): number {
    return this.#end.counted / charactersPerToken
  }

  /** The size of all messages before an index. */
  before(index: number): number {
    const run = this.#runs[countWhile(this.#runs.length, (at) => (this.#runs[at] as Place).from <= index) - 1]
    if (run === undefined || index === this.count) return this.#end.length / charactersPerToken
    let { length } = run
    if (index > run.from) {
      const lengths = run.lengths()
      for (let at = 0; at < index - run.from; at++) length += lengths[at] as number
    }
    return length / charactersPerToken
  }

  /** The least index with more than a size before it; one more than the number of messages, if there is none. */
  indexAbove(size: number, sum: 'length' | 'counted' = 'length'): number {
    const isWithin = (characters: number): boolean => characters / charactersPerToken <= size
    if (isWithin(this.#end[sum])) return this.count + 1
    const run = this.#runs[countWhile(this.#runs.length, (at) => isWithin((this.#runs[at] as Place)[sum])) - 1]
    if (run === undefined) return 0
    const lengths = run.lengths()
    const most = sum === 'counted' ? mostCounted : Infinity
    let characters = run[sum]
    let at = 0
    while (isWithin(characters)) characters += Math.min(lengths[at++] as number, most)
    return run.from + at
  }
}

/** The characters of JSON, without `meta`, that estimated tokens take in recorded sessions: 3.4 to 4.2. */
const charactersPerToken = 3.7
