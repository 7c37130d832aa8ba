/**
 * The wire types of OpenAI Chat Completions: `messages` of a request. Assignable to the SDK's
 * `ChatCompletionMessageParam[]` (checked by a type test) without depending on it.
 *
 * Source  OpenAI API reference, Chat Completions (2026-11)
 */
export type ChatMessage = InstructionMessage | UserMessage | AssistantMessage | ToolMessage | FunctionMessage

/** A system or developer message. */
interface InstructionMessage {
  role: 'system' | 'developer'
  content: string | TextPart[]
  name?: string
}

/** A user message. */
interface UserMessage {
  role: 'user'
  content: string | UserPart[]
  name?: string
}

/** An assistant message. */
interface AssistantMessage {
  role: 'assistant'
  content?: string | (TextPart | RefusalPart)[] | null
  refusal?: string | null
  name?: string
  audio?: { id: string } | null
  tool_calls?: (FunctionCall | CustomCall)[]
  function_call?: { name: string; arguments: string } | null
}

/** A tool message with one result. */
interface ToolMessage {
  role: 'tool'
  tool_call_id: string
  content: string | TextPart[]
}

/** The form of results before tools existed. */
interface FunctionMessage {
  role: 'function'
  name: string
  content: string | null
}

/** A text part. */
interface TextPart {
  type: 'text'
  text: string
}

/** A part in which the model declines. */
interface RefusalPart {
  type: 'refusal'
  refusal: string
}

/** A part of a user message. */
type UserPart =
  | TextPart
  | { type: 'image_url'; image_url: { url: string; detail?: 'auto' | 'low' | 'high' } }
  | { type: 'input_audio'; input_audio: { data: string; format: 'wav' | 'mp3' } }
  | { type: 'file'; file: { file_data?: string; file_id?: string; filename?: string } }

/** A function call. */
interface FunctionCall {
  type: 'function'
  id: string
  function: { name: string; arguments: string }
}

/** A custom tool call, whose input is text. */
interface CustomCall {
  type: 'custom'
  id: string
  custom: { name: string; input: string }
}
