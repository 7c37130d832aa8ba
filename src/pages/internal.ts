/** For the other folders and the packages of this repository, which are released together. Not a public API. */
export { codeOf, kindOfCode } from './kind.ts'
export { indexesOf, type KindSource, listKinds, pagesOf, type PageKinds, type Pages } from './pages.ts'
