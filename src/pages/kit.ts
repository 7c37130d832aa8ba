/** Entry for the rooms and packages of this repository, which are released together. No stability promise. */
export { codeOf, kindOfCode } from './kind.ts'
export { indexesOf, type KindSource, listKinds, pagesOf } from './pages.ts'
