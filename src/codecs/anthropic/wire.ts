/**
 * The wire types of Anthropic Messages: `system` and `messages` of a request. Assignable to the SDK's
 * `MessageCreateParams['system']` and `['messages']` (checked by a type test) without depending on it.
 *
 * Source  Anthropic API reference, Messages, and the types of @anthropic-ai/sdk 1.11.0 (2026-11)
 */
export interface AnthropicConversation {
  system?: string | TextBlock[]
  messages: AnthropicMessage[]
}

/** A request's message. */
type AnthropicMessage = UserMessage | AssistantMessage | SystemMessage

/** A user message. */
interface UserMessage {
  role: 'user'
  content: string | UserBlock[]
}

/** An assistant message. */
interface AssistantMessage {
  role: 'assistant'
  content: string | AssistantBlock[]
}

/** Instructions within a conversation, after a user message. Not every model accepts them. */
interface SystemMessage {
  role: 'system'
  content: string | TextBlock[]
}

/** A block of a user message. */
type UserBlock = TextBlock | ImageBlock | DocumentBlock | ToolResultBlock

/** A block of an assistant message. */
type AssistantBlock = TextBlock | ThinkingBlock | RedactedThinkingBlock | ToolUseBlock

/** Text. */
interface TextBlock {
  type: 'text'
  text: string
}

/** An image. */
interface ImageBlock {
  type: 'image'
  source:
    | { type: 'base64'; media_type: 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp'; data: string }
    | { type: 'url'; url: string }
}

/** A PDF or text document. */
interface DocumentBlock {
  type: 'document'
  source:
    | { type: 'base64'; media_type: 'application/pdf'; data: string }
    | { type: 'text'; media_type: 'text/plain'; data: string }
    | { type: 'url'; url: string }
  title?: string
}

/** Reasoning, with its signature. */
interface ThinkingBlock {
  type: 'thinking'
  thinking: string
  signature: string
}

/** Reasoning that only the provider can read. */
interface RedactedThinkingBlock {
  type: 'redacted_thinking'
  data: string
}

/** A tool call. */
interface ToolUseBlock {
  type: 'tool_use'
  id: string
  name: string
  input: { [name: string]: unknown }
}

/** The result of a call. */
interface ToolResultBlock {
  type: 'tool_result'
  tool_use_id: string
  content?: string | (TextBlock | ImageBlock | DocumentBlock)[]
  is_error?: boolean
}
