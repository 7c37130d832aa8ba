/** For the other folders and the packages of this repository, which are released together. Not a public API. */
export { contentLengths, type MeasuredRun } from './view-lengths.ts'
export { mostCounted } from './content-length.ts'
export { linkedHistory, type LinkedHistory } from './linked.ts'
export { pagedOf, type Paged } from './paged.ts'
export { chunkLength } from './state.ts'
export { type ChunkReader, type ChunkText, type Fill, appendChunk, appendText, appendTexts } from './text.ts'
export type { Position } from './view.ts'
