/**
 * Splits text into words for search: lower case, without accents, stemmed if they are English, and
 * in pieces of two characters for scripts without spaces.
 */
import { stemmer } from 'stemmer'

/** A lower-case word and the terms that find it. */
export interface Word {
  readonly said: string
  readonly terms: readonly string[]
}

/**
 * The words of a text, in order. `leapYear` is found as a whole and by its parts. Only the first 32
 * UTF-16 units of a word are compared.
 *
 * Cost  O(characters)
 */
export function* wordsIn(text: string): Generator<Word> {
  for (const [found] of text.matchAll(word)) {
    if (unspacedScript.test(found)) {
      const characters = [...found]
      const pairs = characters.slice(1).map((next, index) => `${characters[index]}${next}`)
      for (const said of pairs.length === 0 ? characters : pairs) yield { said, terms: [said] }
      continue
    }
    const parts = found.length <= longestWord && hump.test(found) ? found.split(humps) : []
    yield { said: found.toLowerCase(), terms: [termOf(found), ...parts.filter((part) => part !== '').map(termOf)] }
  }
}

/** Whether a word carries no topic: `what`, `did`, `the`. English only. */
export const isStopWord = (said: string): boolean => stopWords.has(said)

/** Letters with their marks, and digits. A run of a script without spaces is matched separately. */
const word =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}ー々]+|(?:(?![\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}])[\p{L}\p{M}\p{N}])+/gu
const unspacedScript = /^[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}ー々]/u
const hump = /\p{Ll}\p{Lu}/u
const humps = /(?<=\p{Ll})(?=\p{Lu})/u
const longestWord = 32

const termOf = (said: string): string => {
  const cut = said.slice(0, longestWord)
  const known = terms.get(cut)
  if (known !== undefined) return known
  const plain = cut.toLowerCase().normalize('NFKD').replace(accents, '').normalize('NFKC')
  const term = english.test(plain) ? stemmer(plain) : plain
  if (terms.size === mostRemembered) terms.clear()
  terms.set(cut, term)
  return term
}

/** A cache of terms for recent words, because stemming is slow. */
const terms = new Map<string, string>()
const mostRemembered = 20_000
const accents = /[\u0300-\u036f]/g
const english = /^[a-z]{3,}$/

const stopWords: ReadonlySet<string> = new Set(
  (
    'a about above after again against all am an and any are as at be because been before being below between both ' +
    'but by can could d did do does doing don down during each few for from further had has have having he her here ' +
    'hers herself him himself his how i if in into is it its itself just ll m me more most my myself no nor not now of ' +
    'off on once only or other our ours ourselves out over own re s same she should so some such t than that the their ' +
    'theirs them themselves then there these they this those through to too under until up ve very was we were what ' +
    'when where which while who whom why will with would you your yours yourself yourselves'
  ).split(' '),
)
