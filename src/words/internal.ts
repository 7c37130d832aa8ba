/** For the other folders of the library. Not a public API. */
export { memoizeText } from './memoize.ts'
export { stemOf } from './stem.ts'
export { isStopWord } from './stop-words.ts'
