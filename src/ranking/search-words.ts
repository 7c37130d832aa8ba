/**
 * Splits text into words for search: lower case, without accents, stemmed if they are English, and
 * in pieces of two characters for scripts without spaces.
 */
import { memoizeText, stemOf } from '../words/internal.ts'

/** A lower-case word and the terms that find it. */
interface Word {
  readonly text: string
  readonly terms: readonly string[]
}

/**
 * The words of a text, in order. `leapYear` is found as a whole and by its parts. Only the first 32
 * UTF-16 units of a word are compared.
 *
 * Cost  O(characters)
 */
export function* searchWordsIn(text: string): Generator<Word> {
  for (const [run] of text.matchAll(runs)) yield* wordsOfRun(run)
}

/** Cached, because stemming is slow. */
const wordsOfRun = memoizeText((run): readonly Word[] =>
  (run.match(runsOfOneScript) ?? []).flatMap((part) => (unspacedScript.test(part) ? pairsOf(part) : wordOf(part))),
)

const wordOf = (found: string): Word => {
  const parts = found.length <= longestWord && hump.test(found) ? found.split(humps) : []
  return { text: found.toLowerCase(), terms: [found, ...parts].filter((part) => part !== '').map(termOf) }
}

const pairsOf = (found: string): readonly Word[] => {
  const characters = [...found]
  const pairs = characters.slice(1).map((next, index) => `${characters[index]}${next}`)
  return (pairs.length === 0 ? characters : pairs).map((text) => ({ text, terms: [text] }))
}

/** Letters with their marks, and digits: words, or text of a script without spaces. */
const scripts = '\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}'
const runs = new RegExp(`[\\p{L}\\p{M}\\p{N}${scripts}]+`, 'gu')
const runsOfOneScript = new RegExp(`[${scripts}ー々]+|[^${scripts}]+`, 'gu')
const unspacedScript = new RegExp(`^[${scripts}ー々]`, 'u')
const hump = /\p{Ll}\p{Lu}/u
const humps = /(?<=\p{Ll})(?=\p{Lu})/u
const longestWord = 32

const termOf = (word: string): string => {
  const plain = word.slice(0, longestWord).toLowerCase().normalize('NFKD').replace(accents, '').normalize('NFKC')
  return stemOf(plain)
}

const accents = /[\u0300-\u036f]/g
