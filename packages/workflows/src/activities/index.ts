export { historyActivities } from './activities.ts'
export { translateChatOptions, type TranslatedChatOptions } from './chat-options.ts'
export { chatStep, type ChatStep, type StepActivities } from './chat-step.ts'
export {
  createChat,
  type Chat,
  type ChatEnd,
  type ChatHost,
  type ChatOptions,
  type ChatSignal,
  type ChatState,
  type ChatStatus,
} from './chat-workflow.ts'
export { eventsInMemory, eventsInStore, type EventLog } from './event-log.ts'
export type { EventSink, StreamEvent } from './event.ts'
export { ActivityFailure, PermanentFailure, RetryableFailure } from './failure.ts'
export { activityFaultMessage, type ActivityFault } from './fault.ts'
export type { ActivityOptions, Invocation } from './host.ts'
export type { HistoryActivities, StreamInput, StreamResult } from './input.ts'
export { manageHistory, type ManagedView, type ManageOptions } from '../managed/manage-history.ts'
export { markMessage, type MessageMark } from '../managed/marks.ts'
