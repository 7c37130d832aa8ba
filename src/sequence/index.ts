export type { Sequence } from './sequence.ts'
export { collect, indexAt, iterate, seclude, sliceBounds, type Read } from './span.ts'
