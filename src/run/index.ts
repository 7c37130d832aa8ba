export type { CallLog, CallLogging } from './calls.ts'
export type { BlockType, Model, ModelEvent, ModelRequest, ToolDefinition } from './model.ts'
export type { FinishReason, ModelResponse } from './response.ts'
export type { InterruptBehavior, RunEvent, SentRequest } from './event.ts'
export {
  sessionHandler,
  type RecordingSession,
  type SessionHandler,
  type SessionHandlerOptions,
} from './session-handler.ts'
export type { RunLeaseOptions } from './run-lease.ts'
export { historyHandler, type HistoryHandlerOptions, type DeltaOutcome } from './history-handlers.ts'

export type { Limits, LimitState } from './limits.ts'
export type { ContextFor, ContextOptions, ModelCall, ModelContext, RunDerive } from './context-for.ts'
export type { LookAhead, HandlerAnswer, RunHandler } from './handler.ts'
export type { Approval, CallResult, Decisions, Denial, OpenAnswer, WaitingCall } from './open-answer.ts'
export type { InterruptOptions, RunOptions, RunSettings, RunStream } from './launch.ts'
export { inputsOf, type Input, type InputState } from './inputs/input.ts'
export { listWaiting, type InboxCall, type InboxPage, type InboxQuery } from './inbox.ts'
export { resume, type ResumeOptions } from './resume.ts'
export { run, type InputRunOptions } from './run.ts'
export { settleOpen } from './settle-open.ts'
export { turn, type SessionRunOptions, type TurnOptions } from './turn.ts'
export type { UnfinishedChoice, UnfinishedPolicy } from './start.ts'
export {
  type InputMismatch,
  type NoModel,
  type NotWaiting,
  type RunFailure,
  type RunFault,
  type TurnFault,
} from './fault.ts'
export { invoke } from './invoke.ts'
export { mcpTools, type McpClient, type McpTool, type McpToolOptions } from './mcp-tools.ts'
export { modelFor, type ModelConfig, type ModelProvider, type ModelRegistry } from './model-for.ts'
export type { ModelType } from './model-types.ts'
export type { RunResult, RunStep, StopReason } from './result.ts'
export { scriptedModel, type Line, type ScriptOptions } from './scripted.ts'
export { tool, toolOutput, type Tool, type ToolContext, type ToolOptions, type ToolOutput } from './tool.ts'
