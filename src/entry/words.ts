/**
 * Splits a text into words as a search compares them: in lower case and without accents, with
 * single characters in scripts without spaces. An index stores the terms of a text: its words, and the stems of
 * those that differ from them.
 */
import type { WantedTerm } from '../store/internal.ts'
import { stemOf } from '../words/internal.ts'

/** A word of a text, or a character of a script without spaces. */
export interface Word {
  /** The normalized word, used for comparison. */
  readonly text: string
  /** The start in the text, in UTF-16 units. */
  readonly start: number
  /** The end in the text, in UTF-16 units. */
  readonly end: number
  /** True for a character of a script without spaces. */
  readonly unspaced: boolean
  /** True for such a character if it directly follows another. */
  readonly joined: boolean
}

/** Letters with their marks and digits, or one pictograph. */
const word = /[\p{L}\p{M}\p{N}]+|\p{Extended_Pictographic}/gu
const asciiWord = /[a-z0-9]+/g
// oxlint-disable-next-line no-control-regex
const ascii = /^[\x00-\x7f]*$/
/** Scripts without spaces, and Hangul, whose words include their particles. */
const unspacedScripts = ['Hani', 'Hira', 'Kana', 'Bopo', 'Hang', 'Thai', 'Laoo', 'Khmr', 'Mymr']

interface ScriptPatterns {
  /** A run of such a script, or a run of other scripts. */
  readonly run: RegExp
  readonly isUnspaced: RegExp
}

/** Made when they are first used: for a literal, each start of a program would load the tables of all scripts. */
let patterns: ScriptPatterns | undefined
const scriptPatterns = (): ScriptPatterns => {
  const scripts = unspacedScripts.map((name) => `\\p{scx=${name}}`).join('')
  return (patterns ??= {
    run: new RegExp(`[${scripts}]+|[^${scripts}]+`, 'gu'),
    isUnspaced: new RegExp(`^[${scripts}]`, 'u'),
  })
}

/** The words of a text, in order. */
export function* wordsIn(text: string): Generator<Word> {
  const { run, isUnspaced } = scriptPatterns()
  for (const { 0: found, index } of text.matchAll(word)) {
    if (ascii.test(found)) {
      yield { text: found.toLowerCase(), start: index, end: index + found.length, unspaced: false, joined: false }
      continue
    }
    for (const { 0: piece, index: at } of found.matchAll(run)) {
      const [start, end] = [index + at, index + at + piece.length]
      const plain = foldWord(piece)
      if (plain === '') continue
      if (!isUnspaced.test(piece)) yield { text: plain, start, end, unspaced: false, joined: false }
      else yield* charactersOf(plain, start, end)
    }
  }
}

/** The characters of a run. If normalizing changed its length, each has the position of the whole run. */
function* charactersOf(plain: string, start: number, end: number): Generator<Word> {
  const exact = plain.length === end - start
  let at = start
  for (const text of plain) {
    const place = exact ? { start: at, end: at + text.length } : { start, end }
    yield { text, ...place, unspaced: true, joined: at > start }
    at += text.length
  }
}

/** Normalizes a word. Some characters decompose into ASCII punctuation, which is removed. */
const foldWord = (found: string): string =>
  found.normalize('NFKD').replace(accents, '').toLowerCase().normalize('NFC').replace(asciiSeparators, '')

const accents = /[\u0300-\u036f]/g
// oxlint-disable-next-line no-control-regex
const asciiSeparators = /[\x00-\x2f:-@[-`{-\x7f]/g

/** The maximum length of a term, in UTF-16 units. */
const longestTerm = 64

/**
 * The index term of a word.
 *
 * @param text a word from `wordsIn`
 * @returns its first 64 UTF-16 units
 */
export const termOf = (text: string): string =>
  text.length <= longestTerm ? text : text.slice(0, longestTerm).replace(/[\ud800-\udbff]$/, '')

/** Marks the term of a stem, so that a search for the same letters as a word does not find it. A private-use character. */
const stemMark = '\ue004'

/** The terms of an index that have a stem: the word of these letters, and the stem of other words. */
export const stemTerms = (stem: string): readonly WantedTerm[] => [{ term: termOf(stem) }, { term: stemMark + stem }]

/**
 * Add the terms of a text to a set: its words, the stems of those that differ from them and, in scripts without
 * spaces, each pair of adjacent characters and the last character of a run. So a prefix search finds a single character.
 *
 * Cost    O(text)
 */
export const addTerms = (terms: Set<string>, text: string): void => {
  if (ascii.test(text)) {
    for (const found of text.toLowerCase().match(asciiWord) ?? []) addWord(terms, found)
    return
  }
  let before: Word | undefined
  for (const word of wordsIn(text)) {
    if (before !== undefined) terms.add(word.joined ? before.text + word.text : before.text)
    before = word.unspaced ? word : undefined
    if (!word.unspaced) addWord(terms, word.text)
  }
  if (before !== undefined) terms.add(before.text)
}

const addWord = (terms: Set<string>, word: string): void => {
  const term = termOf(word)
  if (terms.has(term)) return
  terms.add(term)
  const stem = stemOf(word)
  if (stem !== word) terms.add(stemMark + stem)
}
