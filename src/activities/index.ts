export { historyActivities } from './activities.ts'
export { chatStep, type ChatStep } from './chat-step.ts'
export type { EventSink, Heartbeat, StreamEvent } from './event.ts'
export { ActivityFailure, isRetryable } from './failure.ts'
export type { ActivityFault } from './fault.ts'
export type { ActivityOptions, Invocation } from './host.ts'
export type {
  AppendInput,
  AppendResult,
  ContextLimit,
  EndInput,
  HistoryActivities,
  HistoryInput,
  HydrateResult,
  ManageInput,
  ManageResult,
  StreamInput,
  StreamResult,
} from './input.ts'
