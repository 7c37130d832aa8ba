/** For the other folders and the packages of this repository, which are released together. Not a public API. */
export { isLoopback, whyRefused } from '../guard/index.ts'
export { decompress } from './decompress.ts'
export { framesIn } from './frames.ts'
export { FrameReader, replayLeftSpools } from './replay.ts'
export { beginRun, type Run } from './run.ts'
export { type Segment, Spool, type SpoolKeys, type SpoolOptions, isSpooledBefore, failedSuffix } from './spool.ts'
export { Frames } from './spooling.ts'
export { vertexUrl } from './vertex.ts'
