export { openaiResponses } from './codec.ts'
export type {
  ApplyPatchCallOutput,
  AssistantText,
  ComputerCallOutput,
  CustomToolCall,
  CustomToolCallOutput,
  FunctionCall,
  FunctionCallOutput,
  InputMessage,
  InputPart,
  McpApprovalResponse,
  OutputMessage,
  ReasoningItem,
  ResponsesItem,
  ShellCallOutput,
  ToolSearchOutput,
} from './wire.ts'
