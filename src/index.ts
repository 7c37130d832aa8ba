/**
 * Indelible: the canonical record of an agent conversation. You can append to it and read it.
 *
 * @module indelible
 */
export { faultMessage, orThrow, type Fault } from './fault.ts'
export { FaultError, type CallbackThrew, type Task } from './task/index.ts'
export type { Immutable, Json, JsonObject, Recorded } from './json/index.ts'
export {
  assistant,
  decodeMessage,
  developer,
  file,
  image,
  interruptedResults,
  mend,
  openCalls,
  reasoning,
  settle,
  system,
  text,
  textOf,
  toolCall,
  toolCallsOf,
  toolResult,
  user,
  type Message,
  type Part,
  type Sequence,
  type Settled,
} from './message/index.ts'
export { openaiChat } from './codecs/openai-chat/index.ts'
export { openaiResponses } from './codecs/openai-responses/index.ts'
export { anthropic } from './codecs/anthropic/index.ts'
export { classify, degradationPath, minFidelity, type PageKind, type ResidencyLevel } from './pages/index.ts'
export {
  applyDelta,
  createHistory,
  restoreHistory,
  type History,
  type HistoryDelta,
  type View,
} from './history/index.ts'
export { memoryStore, type Store } from './store/index.ts'
export {
  createSession,
  exportSession,
  forkSession,
  importRecord,
  listSessions,
  openOrCreateSession,
  openSession,
  pending,
  readSession,
  verifySession,
  type Session,
} from './session/index.ts'
export {
  appendUserMessage,
  applyRunResultHistory,
  replaceThreadHistory,
  toThreadHistory,
  type ThreadItem,
} from './thread/index.ts'
