/** For the rooms and packages of this repository, which are released together. Other programs get no promise here. */
export { codeOf, kindOfCode } from './kind.ts'
export { type KindSource, pagesOf } from './pages.ts'
