/** For the other folders of the library. Not a public API. */
export { searchWordsIn } from './search-words.ts'
export { addText, emptyIndex, rankTexts } from './text-index.ts'
