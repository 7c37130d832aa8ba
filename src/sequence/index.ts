export type { Sequence } from './sequence.ts'
export { seclude } from './seclude.ts'
export { collect, indexAt, iterate, sliceBounds, type Read } from './span.ts'
