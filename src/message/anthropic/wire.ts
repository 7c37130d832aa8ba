/**
 * The wire of Anthropic Messages: what `system` and `messages` of a request may hold. Assignable to the SDK's
 * `MessageCreateParams['system']` and `['messages']` (a type test says so) without depending on it.
 *
 * Source  Anthropic API reference, Messages, and the types of @anthropic-ai/sdk 1.11.0 (2026-11)
 */
export interface AnthropicConversation {
  system?: string | TextBlock[]
  messages: AnthropicMessage[]
}

export type AnthropicMessage = UserMessage | AssistantMessage | SystemMessage

export interface UserMessage {
  role: 'user'
  content: string | UserBlock[]
}

export interface AssistantMessage {
  role: 'assistant'
  content: string | AssistantBlock[]
}

/** Instructions in the middle of a conversation, after what the user says. Not every model takes them. */
export interface SystemMessage {
  role: 'system'
  content: string | TextBlock[]
}

export type UserBlock = TextBlock | ImageBlock | DocumentBlock | ToolResultBlock

export type AssistantBlock = TextBlock | ThinkingBlock | RedactedThinkingBlock | ToolUseBlock

export interface TextBlock {
  type: 'text'
  text: string
}

export interface ImageBlock {
  type: 'image'
  source: { type: 'base64'; media_type: 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp'; data: string } | { type: 'url'; url: string }
}

export interface DocumentBlock {
  type: 'document'
  source:
    | { type: 'base64'; media_type: 'application/pdf'; data: string }
    | { type: 'text'; media_type: 'text/plain'; data: string }
    | { type: 'url'; url: string }
  title?: string
}

export interface ThinkingBlock {
  type: 'thinking'
  thinking: string
  signature: string
}

export interface RedactedThinkingBlock {
  type: 'redacted_thinking'
  data: string
}

export interface ToolUseBlock {
  type: 'tool_use'
  id: string
  name: string
  input: { [name: string]: unknown }
}

export interface ToolResultBlock {
  type: 'tool_result'
  tool_use_id: string
  content?: string | (TextBlock | ImageBlock | DocumentBlock)[]
  is_error?: boolean
}
