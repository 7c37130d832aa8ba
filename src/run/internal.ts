/** For the other folders and the packages of this repository, which are released together. Not a public API. */
export { type AdapterOptions, joinMessages, messagesOf, partOf, wireOf } from './model/adapter.ts'
export { type RunFault, runSentences } from './fault.ts'
export { Blocks } from './model/blocks.ts'
export type { BlockType, FinishReason, Model, ModelEvent } from './model/model.ts'
export { waitingStep } from './turns/start.ts'
export { streamedEvents, type Line } from './model/scripted.ts'
export type { ModelContext } from './loop/context-for.ts'
export type { OpenAnswer, Denial, CallResult } from './open-answer.ts'
