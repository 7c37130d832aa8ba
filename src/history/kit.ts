/** For the rooms and packages of this repository, which are released together. Other programs get no promise here. */
export { chunkLength } from './state.ts'
export { type ChunkReader, type ChunkText, type Fill, appendChunk, appendText } from './text.ts'
