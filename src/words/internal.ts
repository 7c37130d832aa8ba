/** For the other folders of the library. Not a public API. */
export { memoizeText } from './memoize.ts'
export { searchWordsIn } from './search-words.ts'
export { stemOf } from './stem.ts'
export { isStopWord } from './stop-words.ts'
