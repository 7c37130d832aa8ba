/** For the rooms and packages of this repository, which are released together. Other programs get no promise here. */
export { isRetryable } from './activities/failure.ts'
export { refsOfTree } from './refs/tree.ts'
