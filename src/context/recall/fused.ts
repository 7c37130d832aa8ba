/**
 * Search by words and by meaning: a lexical search, and the vectors of a function that the host brings, joined by rank.
 *
 * Ranks are joined and not scores (reciprocal rank fusion: a position counts 1 / (60 + rank) in each list), because the
 * scores of the two say nothing of each other. Vectors are kept, so that asking again embeds the new messages only.
 *
 * Source  Cormack, Clarke, Büttcher: Reciprocal rank fusion (SIGIR 2009)
 */
import type { View } from '../../history/index.ts'
import type { Message } from '../../message/index.ts'
import { plain } from '../showing/represent.ts'
import { lexicalSearch, type Found, type RecallSearch } from './search.ts'
import { slicedAt } from '../showing/shorten.ts'

/**
 * Computes vectors of texts. If it rejects, the search fails.
 *
 * @returns one vector for each, in order, all of one length
 */
export type Embed = (texts: readonly string[]) => Promise<readonly ArrayLike<number>[]>

/** A search that may wait. */
export interface AsyncRecallSearch {
  /**
   * Find the positions that match a query.
   *
   * @returns the results, best first; empty if nothing matches. A failure rejects
   */
  readonly find: (view: View<Message>, query: string, limit: number) => Promise<readonly Found[]>
}

/** How to combine a search by words with a search by vectors. */
export interface FusedOptions {
  /** Gives a vector for each text. */
  readonly embed: Embed
  /** The search by words. Default: a new `lexicalSearch()`. */
  readonly lexical?: RecallSearch
  /** The most texts in one call of `embed`. Default: 64. */
  readonly batch?: number
  /** The most UTF-16 units of one message or query to embed. Default: 8,000. */
  readonly maxCharacters?: number
}

/**
 * A search by words and by meaning, empty until its first query. Keep it beside the record that it searches. Calls wait for
 * each other, so that no message is embedded twice. After a failure the next call embeds the missing messages.
 *
 * Cost    one `embed` of the query and of new messages, and O(record × dimensions)
 *
 * @example
 * const search = fusedSearch({ embed })
 * await recallAsync(history.view(), { query: 'who pays?' }, { search })
 */
export const fusedSearch = (options: FusedOptions): AsyncRecallSearch => {
  const { embed, lexical = lexicalSearch(), batch = 64, maxCharacters = 8_000 } = options
  const known: Embedded[] = []
  let busy: Promise<unknown> = Promise.resolve()
  const vectorsOf = async (texts: readonly string[]): Promise<readonly Float32Array[]> => {
    const vectors = await embed(texts)
    if (vectors.length !== texts.length)
      throw new TypeError(`embed gave ${vectors.length} vectors for ${texts.length} texts; expected one for each`)
    return vectors.map(unit)
  }
  const catchUp = async (view: View<Message>): Promise<void> => {
    const shared = Math.min(known.length, view.length)
    if (shared > 0 && view.at(shared - 1) !== known[shared - 1]?.message) known.length = 0 // another record, or a fork
    while (known.length < view.length) {
      const messages = view.slice(known.length, known.length + batch).toArray()
      const vectors = await vectorsOf(messages.map((message) => slicedAt(saidIn(message), 0, maxCharacters)))
      for (const [index, message] of messages.entries()) known.push({ message, vector: vectors[index] as Float32Array })
    }
  }
  const find = async (view: View<Message>, query: string, limit: number): Promise<readonly Found[]> => {
    await catchUp(view)
    const [asked] = await vectorsOf([slicedAt(query, 0, maxCharacters)])
    const depth = Math.max(leastDepth, limit)
    const near = known
      .slice(0, view.length)
      .map(({ vector }, index) => ({
        position: view.positionAt(index) as number,
        score: cosine(vector, asked as Float32Array),
      }))
      .filter(({ score }) => score > 0)
      .toSorted((a, b) => b.score - a.score)
      .slice(0, depth)
    const words = lexical.search(view, query, depth)
    const joined = new Map<number, Found>(words.map((found) => [found.position, { ...found, score: 0 }]))
    for (const list of [words, near])
      for (const [rank, { position }] of list.entries()) {
        const { score, words: met } = joined.get(position) ?? { score: 0, words: [] }
        joined.set(position, { position, score: score + 1 / (rankOffset + rank + 1), words: met })
      }
    return [...joined.values()]
      .toSorted((a, b) => b.score - a.score || a.position - b.position)
      .slice(0, limit)
      .map((found) => Object.freeze(found))
  }
  return Object.freeze<AsyncRecallSearch>({
    find: (view, query, limit) => {
      const found = busy.then(() => find(view, query, limit))
      busy = found.catch(() => undefined)
      return found
    },
  })
}

interface Embedded {
  readonly message: Message
  /** Of length 1, or all zeros. */
  readonly vector: Float32Array
}

const rankOffset = 60
const leastDepth = 50

const saidIn = (message: Message): string => message.content.map(plain).join('\n')

const unit = (vector: ArrayLike<number>): Float32Array => {
  const made = Float32Array.from(vector)
  const length = Math.sqrt(made.reduce((sum, value) => sum + value * value, 0))
  return length > 0 ? made.map((value) => value / length) : made
}

const cosine = (a: Float32Array, b: Float32Array): number => {
  if (a.length !== b.length)
    throw new TypeError(`embed gave vectors of ${a.length} and of ${b.length} numbers; expected one length`)
  let sum = 0
  for (let index = 0; index < a.length; index++) sum += (a[index] as number) * (b[index] as number)
  return sum
}
