/** For the other folders and the packages of this repository, which are released together. Not a public API. */
export { type AdapterOptions, joinMessages, messagesOf, partOf, wireOf } from './adapter.ts'
export { type RunFault, runSentences } from './fault.ts'
export { Blocks } from './blocks.ts'
export type { BlockType, FinishReason, Model, ModelEvent } from './model.ts'
export { waitingStep } from './start.ts'
export { streamedEvents, type Line } from './scripted.ts'
export type { ModelContext } from './context-for.ts'
export type { OpenAnswer, Denial, CallResult } from './open-answer.ts'
