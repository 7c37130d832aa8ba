/** For the rooms and packages of this repository, which are released together. Other programs get no promise here. */
export { classifyAll } from './classify.ts'
export { codeOf, isResidencyLevel, kindOfCode } from './kind.ts'
export { type KindSource, pagesOf } from './pages.ts'
