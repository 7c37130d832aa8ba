/**
 * The wire of OpenAI Chat Completions: what `messages` of a request may hold. Assignable to the SDK's
 * `ChatCompletionMessageParam[]` (a type test says so) without depending on it.
 *
 * Source  OpenAI API reference, Chat Completions (2026-11)
 */
export type ChatMessage = InstructionMessage | UserMessage | AssistantMessage | ToolMessage | FunctionMessage

/** A message of the system or of the developer. */
export interface InstructionMessage {
  role: 'system' | 'developer'
  content: string | TextPart[]
  name?: string
}

/** A message of the user. */
export interface UserMessage {
  role: 'user'
  content: string | UserPart[]
  name?: string
}

/** A message of the assistant. */
export interface AssistantMessage {
  role: 'assistant'
  content?: string | (TextPart | RefusalPart)[] | null
  refusal?: string | null
  name?: string
  audio?: { id: string } | null
  tool_calls?: (FunctionCall | CustomCall)[]
  function_call?: { name: string; arguments: string } | null
}

/** The result of a call. */
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

/** A part of text. */
export interface TextPart {
  type: 'text'
  text: string
}

/** A part in which the model declines. */
export interface RefusalPart {
  type: 'refusal'
  refusal: string
}

/** A part of a user's message. */
export type UserPart =
  | TextPart
  | { type: 'image_url'; image_url: { url: string; detail?: 'auto' | 'low' | 'high' } }
  | { type: 'input_audio'; input_audio: { data: string; format: 'wav' | 'mp3' } }
  | { type: 'file'; file: { file_data?: string; file_id?: string; filename?: string } }

/** A call of a function. */
export interface FunctionCall {
  type: 'function'
  id: string
  function: { name: string; arguments: string }
}

/** A call of a custom tool, whose input is text. */
export interface CustomCall {
  type: 'custom'
  id: string
  custom: { name: string; input: string }
}
