export { aiModelMessages } from './codec.ts'
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
