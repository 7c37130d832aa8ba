/** For the other folders and the packages of this repository, which are released together. Not a public API. */
export { countWhile, RecentMap, type Sequence, itemAt } from './index.ts'
