export { anthropic, type AnthropicCodec, type AnthropicEncodeOptions } from './codec.ts'
export { decodeResponse } from './decode.ts'
export type {
  AnthropicConversation,
  AnthropicMessage,
  AssistantBlock,
  AssistantMessage,
  DocumentBlock,
  ImageBlock,
  RedactedThinkingBlock,
  SystemMessage,
  TextBlock,
  ThinkingBlock,
  ToolResultBlock,
  ToolUseBlock,
  UserBlock,
  UserMessage,
} from './wire.ts'
