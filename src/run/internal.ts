/** For the other folders and the packages of this repository, which are released together. Not a public API. */
export { type AdapterOptions, checkInstructionsOnce, joinMessages, messagesOf, partOf, wireOf } from './adapter.ts'
export { type RunFault, runSentences } from './fault.ts'
export { deltaOf } from './model-event.ts'
export type { BlockType, Model, ModelEvent, ModelRequest } from './model.ts'
export type { FinishReason } from './response.ts'
export { waitingStep } from './start.ts'
