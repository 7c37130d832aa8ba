export { historyActivities } from './activities.ts'
export { translateChatOptions, type TranslatedChatOptions } from './chat-options.ts'
export { chatStep, type ChatStep, type StepActivities } from './chat-step.ts'
export {
  createChat,
  type Chat,
  type ChatCall,
  type ChatEnd,
  type ChatHost,
  type ChatOptions,
  type ChatSignal,
  type ChatState,
  type ChatStatus,
} from './chat-workflow.ts'
export {
  eventsInMemory,
  eventsInStore,
  type EventLog,
  type EventLogOptions,
  type ReadOptions,
  type SequencedEvent,
} from './event-log.ts'
export type { EventSink, Heartbeat, StreamEvent } from './event.ts'
export { ActivityFailure, PermanentFailure, RetryableFailure } from './failure.ts'
export type { FailureNote } from './failure-note.ts'
export { activityFaultMessage, type ActivityFault } from './fault.ts'
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
export { manageHistory, type ManagedView, type ManageOptions } from '../managed/manage-history.ts'
export { markMessage, type MarkOf, type MessageMark } from '../managed/marks.ts'
