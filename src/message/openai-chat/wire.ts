/**
 * The wire of OpenAI Chat Completions: what `messages` of a request may hold. Assignable to the SDK's
 * `ChatCompletionMessageParam[]` (a type test says so) without depending on it.
 *
 * Source  OpenAI API reference, Chat Completions (2026-11)
 */
export type ChatMessage = InstructionMessage | UserMessage | AssistantMessage | ToolMessage | FunctionMessage

export interface InstructionMessage {
  role: 'system' | 'developer'
  content: string | TextPart[]
  name?: string
}

export interface UserMessage {
  role: 'user'
  content: string | UserPart[]
  name?: string
}

export interface AssistantMessage {
  role: 'assistant'
  content?: string | (TextPart | RefusalPart)[] | null
  refusal?: string | null
  name?: string
  audio?: { id: string } | null
  tool_calls?: (FunctionCall | CustomCall)[]
  function_call?: { name: string; arguments: string } | null
}

export interface ToolMessage {
  role: 'tool'
  tool_call_id: string
  content: string | TextPart[]
}

/** How results were sent before there were tools. */
export interface FunctionMessage {
  role: 'function'
  name: string
  content: string | null
}

export interface TextPart {
  type: 'text'
  text: string
}

export interface RefusalPart {
  type: 'refusal'
  refusal: string
}

export type UserPart =
  | TextPart
  | { type: 'image_url'; image_url: { url: string; detail?: 'auto' | 'low' | 'high' } }
  | { type: 'input_audio'; input_audio: { data: string; format: 'wav' | 'mp3' } }
  | { type: 'file'; file: { file_data?: string; file_id?: string; filename?: string } }

export interface FunctionCall {
  type: 'function'
  id: string
  function: { name: string; arguments: string }
}

export interface CustomCall {
  type: 'custom'
  id: string
  custom: { name: string; input: string }
}
