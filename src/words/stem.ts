/** Stems of English words. */
import { stemmer } from 'stemmer'
import { memoizeText } from './memoize.ts'

/**
 * The stem of a word in lower case, which other forms of it have too: `decid` for `decide`, `decided` and `deciding`.
 * A word with other letters than a to z, and one of fewer than three, is its own stem.
 *
 * Source  Porter: An algorithm for suffix stripping, 1980
 */
export const stemOf: (word: string) => string = memoizeText((word) => (english.test(word) ? stemmer(word) : word))

const english = /^[a-z]{3,32}$/
