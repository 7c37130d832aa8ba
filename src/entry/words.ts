/**
 * A text as a search compares it: words in lower case and without accents, and single characters where a script writes
 * no spaces between words. The terms of a text are what an index holds of it.
 */

/** A word of a text, or a character of a script without spaces. */
export interface Word {
  /** The word as it is compared. */
  readonly text: string
  /** Where it begins in the text, in UTF-16 units. */
  readonly start: number
  /** Where it ends. */
  readonly end: number
  /** True for a character of a script without spaces. */
  readonly unspaced: boolean
  /** True if it is one, and directly follows another. */
  readonly joined: boolean
}

/** Letters with their marks and digits, or one pictograph. */
const word = /[\p{L}\p{M}\p{N}]+|\p{Extended_Pictographic}/gu
const asciiWord = /[a-z0-9]+/g
// oxlint-disable-next-line no-control-regex
const ascii = /^[\x00-\x7f]*$/
/** A run of a script that writes no spaces, or Hangul, whose words carry their particles; or a run of others. */
const run =
  /[\p{scx=Hani}\p{scx=Hira}\p{scx=Kana}\p{scx=Bopo}\p{scx=Hang}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]+|[^\p{scx=Hani}\p{scx=Hira}\p{scx=Kana}\p{scx=Bopo}\p{scx=Hang}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]+/gu
const isUnspaced =
  /^[\p{scx=Hani}\p{scx=Hira}\p{scx=Kana}\p{scx=Bopo}\p{scx=Hang}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]/u

/**
 * The units of a text, in order.
 *
 * @param text the text
 * @returns the units
 */
export function* wordsIn(text: string): Generator<Word> {
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

/** The characters of a run. Where folding has changed its length, each stands for the whole run. */
function* charactersOf(plain: string, start: number, end: number): Generator<Word> {
  const exact = plain.length === end - start
  let at = start
  for (const text of plain) {
    const place = exact ? { start: at, end: at + text.length } : { start, end }
    yield { text, ...place, unspaced: true, joined: at > start }
    at += text.length
  }
}

/** A word as it is compared. Without what ASCII has beside letters and digits, which some characters stand for. */
const foldWord = (found: string): string =>
  found.normalize('NFKD').replace(accents, '').toLowerCase().normalize('NFC').replace(besideWords, '')

const accents = /[\u0300-\u036f]/g
// oxlint-disable-next-line no-control-regex
const besideWords = /[\x00-\x2f:-@[-`{-\x7f]/g

/** The number of UTF-16 units of a word that an index holds. */
const longestTerm = 64

/**
 * The term that an index holds of a word.
 *
 * @param text a word from `wordsIn`
 * @returns its first 64 UTF-16 units
 */
export const termOf = (text: string): string =>
  text.length <= longestTerm ? text : text.slice(0, longestTerm).replace(/[\ud800-\udbff]$/, '')

/**
 * Add the terms of a text to a set: its words, and each two characters that follow each other in a script without
 * spaces, with the last character of a run alone. So the beginning of a term finds a single character.
 *
 * Cost    O(text)
 *
 * @param terms the set
 * @param text the text
 */
export const addTerms = (terms: Set<string>, text: string): void => {
  if (ascii.test(text)) {
    for (const found of text.toLowerCase().match(asciiWord) ?? []) terms.add(termOf(found))
    return
  }
  let before: Word | undefined
  for (const unit of wordsIn(text)) {
    if (before !== undefined) terms.add(unit.joined ? before.text + unit.text : before.text)
    before = unit.unspaced ? unit : undefined
    if (!unit.unspaced) terms.add(termOf(unit.text))
  }
  if (before !== undefined) terms.add(before.text)
}
