export { anthropic, type AnthropicCodec } from './codec.ts'
export { decodeResponse } from './decode.ts'
export type { AnthropicEncodeOptions } from './encode.ts'
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
