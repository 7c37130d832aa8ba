export { keptAt, rankAt, withGaps, type Gaps, type Range } from './gaps.ts'
export type { Sequence } from './sequence.ts'
export { seclude } from './seclude.ts'
export { collect, indexAt, itemAt, iterate, sliceBounds, type Read } from './span.ts'
