/**
 * Query syntax: words, "phrases of adjacent words", prefix* and -excluded. Any text is valid;
 * characters other than letters, digits and pictographs only separate words.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from '../json/index.ts'
import { termOf, wordsIn } from '../entry/internal.ts'
import type { WantedTerm } from '../store/internal.ts'
import type { SearchOnlyFault } from './fault.ts'
import { PhraseFinder, type Phrase } from './phrases.ts'

export interface Query {
  /** Phrases that a message must have, at least one. */
  readonly wanted: readonly Phrase[]
  /** Phrases that it must not have. */
  readonly unwanted: ReadonlySet<Phrase>
  /** Finds all of them. */
  readonly finder: PhraseFinder
}

/** An optional minus sign, then quoted text or text up to white space or a quote, then an optional asterisk. */
const item = /(-?)(?:"([^"]*)"?|([^\s"]+))(\*?)/g

/** @param typing whether the last word may be incomplete */
export const parseQuery = (query: string, typing: boolean): Either<SearchOnlyFault, Query> => {
  const wanted = new Map<string, Phrase>()
  const unwanted = new Map<string, Phrase>()
  for (const { 1: sign, 2: quoted, 3: bare, 4: star, index, 0: whole } of query.replaceAll(curly, '"').matchAll(item)) {
    const content = quoted ?? bare ?? ''
    const units = [...wordsIn(content)].map(({ text, joined, unspaced }) => ({ text, joined, unspaced }))
    if (units.length === 0) continue
    const atEnd = typing && sign === '' && index + whole.length === query.length && /[\p{L}\p{M}\p{N}]$/u.test(whole)
    const prefix = star === '*' || (quoted === undefined && content.endsWith('*')) || atEnd
    const phrases = sign === '-' ? unwanted : wanted
    phrases.set(JSON.stringify([prefix, units]), { units, prefix })
  }
  if (wanted.size === 0) return left({ _tag: 'EmptyQuery', query })
  const finder = new PhraseFinder([...wanted.values(), ...unwanted.values()])
  return right({ wanted: [...wanted.values()], unwanted: new Set(unwanted.values()), finder })
}

const curly = /[“”„«»]/g

/** Terms that every message with the phrase has. They usually, but not always, imply the phrase. */
export const termsOfPhrase = ({ units, prefix }: Phrase): readonly WantedTerm[] =>
  units.flatMap(({ text, unspaced, joined }, index): WantedTerm[] => {
    const next = units[index + 1]
    if (!unspaced) return [{ term: termOf(text), ...(prefix && next === undefined && { prefix }) }]
    if (next?.joined === true) return [{ term: text + next.text }]
    return joined ? [] : [{ term: text, prefix: true }] // a single character: match terms that start with it
  })

/** Whether having the single term is equivalent to having the phrase. */
export const isOneTerm = ({ units }: Phrase): boolean =>
  units.length === 1
    ? units[0]?.text.length === termOf(units[0]?.text ?? '').length
    : units.length === 2 && units[1]?.joined === true
