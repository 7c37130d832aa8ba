/** For the packages of this repository, which are released together. Other programs get no promise here. */
export { type ContextFault, contextSentences } from './fault.ts'
