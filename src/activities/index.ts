export { historyActivities } from './activities.ts'
export { chatStep, type ChatStep } from './chat-step.ts'
export type { EventSink, Heartbeat, StreamEvent } from './event.ts'
export { ActivityFailure, isRetryable, PermanentFailure, RetryableFailure } from './failure.ts'
export type { FailureNote } from './failure-note.ts'
export type { ActivityFault } from './fault.ts'
export type { ActivityOptions, Invocation } from './host.ts'
export type {
  AdoptResult,
  AppendInput,
  AppendResult,
  ContextLimit,
  EndInput,
  ForgetInput,
  ForgetResult,
  HistoryActivities,
  HistoryInput,
  HydrateResult,
  KeepInput,
  KeepResult,
  ManageInput,
  ManageResult,
  SavedHistory,
  StreamInput,
  StreamResult,
  ToolInput,
} from './input.ts'
