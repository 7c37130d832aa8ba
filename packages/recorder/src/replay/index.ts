export { replayingFetch, type ReplayingFetch, type ReplayOptions } from './fetch.ts'
export type { ReplaySummary } from './replay.ts'
export { replayingModel } from './model.ts'
export { startReplayServer } from './server.ts'
