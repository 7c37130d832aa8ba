export { openaiChat } from './codec.ts'

export type {
  AssistantMessage,
  ChatMessage,
  CustomCall,
  FunctionCall,
  FunctionMessage,
  InstructionMessage,
  RefusalPart,
  TextPart,
  ToolMessage,
  UserMessage,
  UserPart,
} from './wire.ts'
