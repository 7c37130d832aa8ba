/** For the packages of this repository, which are released together. Not a public API. */
export { isRetryable } from './activities/failure.ts'
export { refsOfTree } from './refs/tree.ts'
