export type { Sequence } from './sequence.ts'
export { sliceBounds, spanOf, type Span } from './span.ts'
