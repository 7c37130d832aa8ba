/**
 * Ranks texts by the words of a query, as an index that grows text by text.
 *
 * A text scores for its own words and, less, for its neighbours' words: an answer rarely repeats the words of its
 * question. Words are ranked by BM25. For a word that is in no text, near misses are tried. All steps are bounded, so
 * no query costs much more than another.
 */
import SearchableMap from 'minisearch/SearchableMap'
import { countWhile } from '../sequence/index.ts'
import { isStopWord } from '../words/internal.ts'
import { searchWordsIn } from './search-words.ts'

/** A text that matches a query. */
export interface RankedText {
  /** Its index: how many texts were added before it. */
  readonly position: number
  /** The relevance. Higher is better. */
  readonly score: number
  /** The words that matched; empty if only neighbouring texts contain them. */
  readonly words: readonly string[]
}

/**
 * The best texts for a query among the first `length`, best first.
 *
 * @param textAt returns the text at an index, to find its words as they are written
 */
export const rankTexts = (
  index: TextIndex,
  query: string,
  length: number,
  limit: number,
  textAt: (position: number) => string,
): readonly RankedText[] => {
  const wanted = termsOf(index, query, length)
  const scores = scoresOf(index, wanted, length)
  const found = topPositions(scores, limit).map((position) => ({
    position,
    score: scores[position] as number,
    words: matchedWords(index, wanted, position, textAt),
  }))
  const least = leastOfBest * (found[0]?.score ?? 0)
  return found.filter(({ score, words }) => words.length > 0 || score >= least)
}

/** The positions of a term, in order, and its count at each. */
interface Postings {
  readonly at: number[]
  readonly times: number[]
}

/** The words of texts. */
export interface TextIndex {
  /** The number of words before each text, and the total. */
  readonly words: number[]
  /** Whether each text ends in a question. */
  readonly asks: boolean[]
  readonly terms: Map<string, Postings>
  /** The same postings in a prefix tree. */
  readonly tree: SearchableMap<Postings>
}

/** The terms that match one word of a query, each with its weight. */
type QueryTerms = readonly (readonly [term: string, weight: number])[]

/** The longest part of a query that is read, in UTF-16 units, and the most different words used from it. */
const longestQuery = 2000
const mostWords = 20
/** The number of these that are also matched by prefix and by near misses. */
const mostExpanded = 8
/** The most terms visited and the most used for one word of a query. */
const mostVisited = 100
const mostTaken = 16
/** The most postings read per query, rarest words first. */
const mostEntries = 50_000

export const emptyIndex = (): TextIndex => ({
  words: [0],
  asks: [],
  terms: new Map(),
  tree: new SearchableMap<Postings>(),
})

/** Adds a text. Cost: O(characters). */
export const addText = (index: TextIndex, text: string): void => {
  const position = index.asks.length
  let count = 0
  for (const { terms } of searchWordsIn(text)) {
    count += 1
    for (const term of terms) {
      const postings = index.terms.get(term) ?? newTerm(index, term)
      const last = postings.at.length - 1
      if (postings.at[last] === position) (postings.times[last] as number) += 1
      else {
        postings.at.push(position)
        postings.times.push(1)
      }
    }
  }
  index.words.push((index.words[position] as number) + count)
  index.asks.push(question.test(text.slice(-80)))
}

const question = /[?？؟]/u

const newTerm = (index: TextIndex, term: string): Postings => {
  const postings = { at: [], times: [] }
  index.terms.set(term, postings)
  index.tree.set(term, postings)
  return postings
}

/** The query's words that occur in a text, or have similar terms. Stop words only if there are no others. */
const termsOf = (index: TextIndex, query: string, length: number): readonly QueryTerms[] => {
  const words = new Map<string, readonly string[]>()
  for (const { text, terms } of searchWordsIn(query.slice(0, longestQuery))) {
    if (words.size === mostWords) break
    words.set(text, terms)
  }
  const topical = [...words].filter(([text]) => !isStopWord(text))
  const looked = new Set<string>()
  const wanted: QueryTerms[] = []
  for (const [, [term = '', ...parts]] of topical.length > 0 ? topical : words) {
    if (looked.has(term)) continue
    looked.add(term)
    const found: (readonly [string, number])[] = [
      [term, 1],
      ...parts.map((part) => [part, partWeight] as const),
      ...(looked.size <= mostExpanded ? kinOf(index, term, length) : []),
    ]
    const known = found.filter(([other]) => occursBefore(index, other, length))
    if (known.length > 0) wanted.push(known)
  }
  return wanted
}

/**
 * The terms with a term as prefix. If the term itself does not occur, also those with other endings
 * and near misses with the same first letter.
 */
const kinOf = (index: TextIndex, term: string, length: number): QueryTerms => {
  if (term.length < 3) return []
  const kin = termsWithPrefix(index, term, length).map(
    (other) => [other, (prefixWeight * term.length) / other.length] as const,
  )
  if (occursBefore(index, term, length)) return bestTerms(kin)
  const root = term.slice(0, Math.max(3, Math.ceil(term.length * rootPart)))
  const endings = termsWithPrefix(index, root, length).flatMap((other) =>
    other.length > term.length + longestEnding ? [] : [[other, (missWeight * root.length) / term.length] as const],
  )
  if (kin.length > 0 || term.length < 6 || term.length > longestMissed) return bestTerms([...kin, ...endings])
  const [first = ''] = term
  const misses = [...index.tree.atPrefix(first).fuzzyGet(term.slice(first.length), term.length < 10 ? 1 : 2)]
  return bestTerms([
    ...endings,
    ...misses.map(([rest, [, distance]]) => [first + rest, missWeight / distance] as const),
  ])
}

/** Some terms that start with the given letters and are longer. */
const termsWithPrefix = (index: TextIndex, letters: string, length: number): readonly string[] => {
  const found: string[] = []
  let visited = 0
  for (const other of index.tree.atPrefix(letters).keys()) {
    if (other !== letters && occursBefore(index, other, length)) found.push(other)
    if (++visited === mostVisited) break
  }
  return found
}

/** The terms with the greatest weight, without duplicates. */
const bestTerms = (terms: QueryTerms): QueryTerms => {
  const most = new Map<string, number>()
  for (const [term, weight] of terms) most.set(term, Math.max(weight, most.get(term) ?? 0))
  return [...most].toSorted(([, a], [, b]) => b - a).slice(0, mostTaken)
}

/** The weights of terms other than the word itself. */
const partWeight = 0.4
const prefixWeight = 0.4
const missWeight = 0.5
/** No near misses are searched for longer words, in UTF-16 units. */
const longestMissed = 20
/** The share of a word that stays fixed when endings vary, and how much longer an ending may make it. */
const rootPart = 0.7
const longestEnding = 2

/** BM25: how quickly repetitions of a word lose value, and how much message length counts. */
const saturation = 0.6
const lengthPart = 0.5
/** The share of a text's score that its neighbours get, by their distance after it. */
const neighbours: readonly (readonly [distance: number, share: number])[] = [
  [-2, 0.2],
  [-1, 0.35],
  [1, 0.35],
  [2, 0.3],
]
/** The share that the text after a question gets. */
const answerShare = 0.9
/** Words in more texts than this do not count for neighbours. */
const commonShare = 0.25
const commonLeast = 8
/** The factor for a text that ends in a question: answers are rarely questions. */
const questionPart = 0.75
/** The exponent for coverage: the share of the query's words in a text or its neighbours. */
const coveragePower = 0.6
/** The number of words at which length no longer reduces the score much: "Thanks!" answers nothing. */
const fullLength = 12
const leastWeight = 0.5
/** The least share of the best score for a text without any of the words itself. */
const leastOfBest = 0.3
/** More than the words of any query: marks a text that contains a word itself. */
const ownWords = 128

/** The score of each position; 0 if it does not match. */
const scoresOf = (index: TextIndex, wanted: readonly QueryTerms[], length: number): Float64Array => {
  const scores = new Float64Array(length)
  const covered = new Float64Array(length)
  const seen = new Int32Array(length)
  const words = new Uint8Array(length)
  const average = (index.words[length] as number) / Math.max(1, length)
  const rarestFirst = wanted.map((word) => listsOf(index, word, length)).toSorted((a, b) => entriesIn(a) - entriesIn(b))
  let [weights, left] = [0, mostEntries]
  for (const [word, lists] of rarestFirst.entries()) {
    const entries = entriesIn(lists)
    if (entries === 0 || (entries > left && word > 0)) continue
    left -= entries
    const { at, times } = mergePostings(lists)
    const weight = leastWeight + Math.log(1 + (length - at.length + 0.5) / (at.length + 0.5))
    weights += weight
    const addScore = (position: number, score: number): void => {
      if (position < 0 || position >= length) return
      ;(scores[position] as number) += score
      if (seen[position] === word + 1) return
      seen[position] = word + 1
      ;(words[position] as number) += 1
      ;(covered[position] as number) += weight
    }
    const spreads = at.length <= Math.max(commonLeast, length * commonShare)
    for (const [entry, position] of at.entries()) {
      const wordCount = (index.words[position + 1] as number) - (index.words[position] as number)
      const often = times[entry] as number
      const full = saturation * (1 - lengthPart + (lengthPart * wordCount) / average)
      const score = (weight * often * (saturation + 1)) / (often + full)
      addScore(position, score)
      words[position] = ownWords
      if (!spreads) continue
      for (const [distance, share] of neighbours)
        addScore(position + distance, score * (distance === 1 && index.asks[position] === true ? answerShare : share))
    }
  }
  for (let position = 0; position < length; position++) {
    if (scores[position] === 0) continue
    if ((words[position] as number) < 2) {
      scores[position] = 0 // one neighbouring word is too weak
      continue
    }
    const wordCount = (index.words[position + 1] as number) - (index.words[position] as number)
    ;(scores[position] as number) *=
      ((covered[position] as number) / weights) ** coveragePower *
      (1 - Math.exp(-(wordCount + 1) / fullLength)) *
      (index.asks[position] === true ? questionPart : 1)
  }
  return scores
}

/** The latest postings of a term before a position, and its weight. */
interface TermPostings extends Postings {
  readonly weight: number
}

const listsOf = (index: TextIndex, word: QueryTerms, length: number): readonly TermPostings[] =>
  word.map(([term, weight]) => {
    const { at, times } = index.terms.get(term) as Postings
    const to = lowerBound(at, length)
    const from = Math.max(0, to - mostEntries)
    return from === 0 && to === at.length
      ? { at, times, weight }
      : { at: at.slice(from, to), times: times.slice(from, to), weight }
  })

const entriesIn = (lists: readonly TermPostings[]): number => lists.reduce((sum, { at }) => sum + at.length, 0)

const mergePostings = (lists: readonly TermPostings[]): Postings => {
  const [only] = lists
  if (lists.length === 1 && only?.weight === 1) return only
  const often = new Map<number, number>()
  for (const { at, times, weight } of lists)
    for (const [entry, position] of at.entries())
      often.set(position, (often.get(position) ?? 0) + weight * (times[entry] as number))
  return { at: [...often.keys()], times: [...often.values()] }
}

/** The positions with the highest scores; of equal scores the earlier position comes first. */
const topPositions = (scores: Float64Array, limit: number): readonly number[] => {
  const kept: number[] = []
  for (const [position, score] of scores.entries()) {
    if (score === 0 || (kept.length >= limit && score <= (scores[kept.at(-1) as number] as number))) continue
    const at = countWhile(kept.length, (index) => (scores[kept[index] as number] as number) >= score)
    kept.splice(at, 0, position)
    if (kept.length > limit) kept.pop()
  }
  return kept.slice(0, Math.max(0, limit))
}

/** The matched words as they appear in a text. */
const matchedWords = (
  index: TextIndex,
  wanted: readonly QueryTerms[],
  position: number,
  textAt: (position: number) => string,
): readonly string[] => {
  const terms = new Set(wanted.flat().flatMap(([term]) => (isPostedAt(index.terms.get(term), position) ? [term] : [])))
  const words = new Set<string>()
  if (terms.size > 0)
    for (const word of searchWordsIn(textAt(position))) {
      for (const term of word.terms) if (terms.delete(term)) words.add(word.text)
      if (terms.size === 0) break
    }
  return Object.freeze([...words])
}

const occursBefore = (index: TextIndex, term: string, length: number): boolean =>
  (index.terms.get(term)?.at[0] ?? length) < length

const isPostedAt = (postings: Postings | undefined, position: number): boolean =>
  postings !== undefined && postings.at[lowerBound(postings.at, position)] === position

/** The index of the first of the sorted positions at or after a position. */
const lowerBound = (at: readonly number[], position: number): number =>
  countWhile(at.length, (index) => (at[index] as number) < position)
