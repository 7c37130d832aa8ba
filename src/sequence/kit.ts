/** For the packages of this repository, which are released together. Other programs get no promise here. */
export { RecentMap, type Sequence, itemAt } from './index.ts'
