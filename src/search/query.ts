/**
 * What a person types: words, "words that follow each other", the begin* of a word, and -words to leave out. Everything
 * can be typed; what is neither a letter, a digit nor a pictograph only separates words.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from '../json/index.ts'
import { termOf, wordsIn, type Word } from '../entry/kit.ts'
import type { WantedTerm } from '../store/index.ts'
import type { SearchOnlyFault } from './fault.ts'

/** Units that follow each other in a text. */
export interface Phrase {
  /** The units. At least one. */
  readonly units: readonly Pick<Word, 'text' | 'joined' | 'unspaced'>[]
  /** The last one may be the beginning of a word. */
  readonly prefix: boolean
}

export interface Query {
  /** Each must be in the message. At least one. */
  readonly wanted: readonly Phrase[]
  /** None may be in it. */
  readonly unwanted: readonly Phrase[]
}

/** A sign, and what it stands before: a text in quotes, or one up to the next white space or quote. */
const item = /(-?)(?:"([^"]*)"?|([^\s"]+))(\*?)/g

/** @param typing the last word may be the beginning of a longer one */
export const parseQuery = (query: string, typing: boolean): Either<SearchOnlyFault, Query> => {
  const wanted: Phrase[] = []
  const unwanted: Phrase[] = []
  for (const { 1: sign, 2: quoted, 3: bare, 4: star, index, 0: whole } of query.replaceAll(curly, '"').matchAll(item)) {
    const said = quoted ?? bare ?? ''
    const units = [...wordsIn(said)].map(({ text, joined, unspaced }) => ({ text, joined, unspaced }))
    if (units.length === 0) continue
    const atEnd = typing && sign === '' && index + whole.length === query.length && /[\p{L}\p{M}\p{N}]$/u.test(whole)
    const prefix = star === '*' || (quoted === undefined && said.endsWith('*')) || atEnd
    const phrase = { units, prefix }
    if (sign === '-') unwanted.push(phrase)
    else wanted.push(phrase)
  }
  return wanted.length === 0 ? left({ _tag: 'EmptyQuery', query }) : right({ wanted, unwanted })
}

const curly = /[“”„«»]/g

/** Terms that a message with the phrase has. Mostly that is enough to know that it has the phrase; not always. */
export const termsOfPhrase = ({ units, prefix }: Phrase): readonly WantedTerm[] =>
  units.flatMap(({ text, unspaced, joined }, index): WantedTerm[] => {
    const next = units[index + 1]
    if (!unspaced) return [{ term: termOf(text), ...(prefix && next === undefined && { prefix }) }]
    if (next?.joined === true) return [{ term: text + next.text }]
    return joined ? [] : [{ term: text, prefix: true }] // a character alone: a term that begins with it
  })

/** Whether a message has the phrase if, and only if, it has its one term. */
export const isOneTerm = ({ units }: Phrase): boolean =>
  units.length === 1
    ? units[0]?.text.length === termOf(units[0]?.text ?? '').length
    : units.length === 2 && units[1]?.joined === true
