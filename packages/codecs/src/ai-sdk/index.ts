export { aiModelMessages, aiUiMessages } from './codec.ts'
export type { AiUiMessage, AiUiPart, UiFilePart, UiReasoningPart, UiTextPart, UiToolPart } from './ui-wire.ts'
export type {
  AiModelMessage,
  AssistantMessage,
  FileData,
  FilePart,
  ProviderOptions,
  ReasoningPart,
  SystemMessage,
  TextPart,
  ToolCallPart,
  ToolMessage,
  ToolOutput,
  ToolResultPart,
  UserMessage,
} from './wire.ts'
