/** The words of a question: what is looked for, and which of them a text has. */
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from '../json/index.ts'
import { stemTerms, wordsIn, type Word } from '../entry/internal.ts'
import { isStopWord, memoizeText, stemOf } from '../words/internal.ts'
import type { WantedTerm } from '../store/internal.ts'
import type { SearchOnlyFault } from './fault.ts'

/** A month that a question names, with the year beside it. */
export interface Month {
  /** 0 for January. */
  readonly month: number
  readonly year: number | undefined
}

export interface Question {
  /** For each of its words, at most 30, the terms by which an index finds it. */
  readonly words: readonly (readonly WantedTerm[])[]
  readonly month: Month | undefined
  /** The words that a word of a text is, as bits: bit 0 for the first. */
  readonly bitsOf: (word: Word, before: Word | undefined) => number
}

/** The part of a question that is read, from its first word on, in UTF-16 units, and the most words of it: as many as a number has bits. */
const longestQuestion = 20_000
const mostWords = 30

/**
 * Cost    O(question)
 *
 * @returns the words, without frequent English ones if there are others; or `EmptyQuery`
 */
export const parseQuestion = (question: string): Either<SearchOnlyFault, Question> => {
  const start = Math.max(0, question.search(/[\p{L}\p{N}]|\p{Extended_Pictographic}/u))
  const text = question.slice(start, start + longestQuestion)
  const topical = new Map<string, readonly WantedTerm[]>()
  const frequent = new Map<string, readonly WantedTerm[]>()
  let before: Word | undefined
  for (const word of wordsIn(text)) {
    if (topical.size >= mostWords) break
    if (word.joined && before !== undefined) {
      const pair = before.text + word.text
      topical.set(pair, [{ term: pair }])
    } else addSingle(topical, before)
    const stem = stemOf(word.text)
    if (!word.unspaced) (isStopWord(word.text) ? frequent : topical).set(stem, stemTerms(stem))
    before = word
  }
  addSingle(topical, before)
  const words = [...(topical.size > 0 ? topical : frequent)].slice(0, mostWords)
  if (words.length === 0) return left({ _tag: 'EmptyQuery', query: question })
  const bits = new Map(words.map(([key], index) => [key, 1 << index]))
  const bit = (key: string): number => bits.get(key) ?? 0
  const bitOfUnspaced = ({ text, joined }: Word, last: Word | undefined): number =>
    bit(text) | (joined ? bit((last?.text ?? '') + text) : 0)
  const bitOfWord = memoizeText((word) => bit(word) | bit(stemOf(word)))
  return right({
    words: words.map(([, terms]) => terms),
    month: monthIn(text),
    bitsOf: (word, last) => (word.unspaced ? bitOfUnspaced(word, last) : bitOfWord(word.text)),
  })
}

/** A single character of a script without spaces is the beginning of the pairs that an index has. */
const addSingle = (words: Map<string, readonly WantedTerm[]>, word: Word | undefined): void => {
  if (word?.unspaced === true && !word.joined) words.set(word.text, [{ term: word.text, prefix: true }])
}

/** The first month that a text names, and the first year. `may` is also a verb, so only `May` counts. */
const monthIn = (text: string): Month | undefined => {
  const name = monthName.exec(text)?.[0]
  if (name === undefined) return undefined
  const year = /\b(?:19|20)\d\d\b/.exec(text)?.[0]
  return { month: months.indexOf(name.slice(0, 3).toLowerCase()), year: year === undefined ? undefined : Number(year) }
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const monthName =
  /\bMay\b|\b(?:[Jj]anuary|[Ff]ebruary|[Mm]arch|[Aa]pril|[Jj]une|[Jj]uly|[Aa]ugust|[Ss]eptember|[Oo]ctober|[Nn]ovember|[Dd]ecember)\b/
