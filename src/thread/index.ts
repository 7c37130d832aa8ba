export { checkThread } from './check.ts'
export type { ItemPlace, ThreadProblem } from './fault.ts'
export { decodeThread, encodeThread } from './codec.ts'
export { appendUserMessage, toThreadHistory } from './history.ts'
export type {
  MessageItem,
  PartItem,
  RuntimeItem,
  ThreadItem,
  ToolCallItem,
  ToolCallOutputItem,
  UserItem,
  WithUser,
} from './item.ts'
export {
  applyRunResultHistory,
  replaceThreadHistory,
  type FinishedResult,
  type FinishedRun,
  type ItemOf,
  type Thread,
} from './thread.ts'
