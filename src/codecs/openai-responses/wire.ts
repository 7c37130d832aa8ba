/**
 * The wire of the OpenAI Responses API: what `input` of a request may hold, as far as this codec writes it by itself.
 * Assignable to the SDK's `ResponseInput` (a type test says so) without depending on it. Items of OpenAI's own tools,
 * which are given back as they came, are typed there; and so is the output of a local shell, whose pairing id is `id` in
 * those types and `call_id` in the documentation and on the wire.
 *
 * Source  OpenAI API reference, Responses (2026-11)
 */
export type ResponsesItem =
  | InputMessage
  | AssistantText
  | OutputMessage
  | ReasoningItem
  | FunctionCall
  | FunctionCallOutput
  | CustomToolCall
  | CustomToolCallOutput
  | ComputerCallOutput
  | ShellCallOutput
  | ApplyPatchCallOutput
  | ToolSearchOutput
  | McpApprovalResponse

/** A message that is not the model's. */
export interface InputMessage {
  type?: 'message'
  role: 'user' | 'system' | 'developer'
  content: string | InputPart[]
}

/** What the assistant said, without what only OpenAI knows of it. */
export interface AssistantText {
  type?: 'message'
  role: 'assistant'
  content: string
  phase?: 'commentary' | 'final_answer' | null
}

/** What the assistant said, as OpenAI said it. */
export interface OutputMessage {
  type: 'message'
  id: string
  role: 'assistant'
  status: Status
  content: ({ type: 'output_text'; text: string; annotations: [] } | { type: 'refusal'; refusal: string })[]
  phase?: 'commentary' | 'final_answer' | null
}

/** Reasoning of the model, to be given back unchanged. */
export interface ReasoningItem {
  type: 'reasoning'
  id: string
  summary: { type: 'summary_text'; text: string }[]
  content?: { type: 'reasoning_text'; text: string }[]
  encrypted_content?: string | null
  status?: Status
}

/** A call of a function. */
export interface FunctionCall {
  type: 'function_call'
  call_id: string
  name: string
  arguments: string
  id?: string
  status?: Status
}

/** The result of a function. */
export interface FunctionCallOutput {
  type: 'function_call_output'
  call_id: string
  output: string | InputPart[]
}

/** A call of a custom tool, whose input is text. */
export interface CustomToolCall {
  type: 'custom_tool_call'
  call_id: string
  name: string
  input: string
  id?: string
}

/** The result of a custom tool. */
export interface CustomToolCallOutput {
  type: 'custom_tool_call_output'
  call_id: string
  output: string | InputPart[]
}

/** The screenshot after an action. */
export interface ComputerCallOutput {
  type: 'computer_call_output'
  call_id: string
  output: { type: 'computer_screenshot'; image_url?: string; file_id?: string }
}

/** The result of a shell call. */
export interface ShellCallOutput {
  type: 'shell_call_output'
  call_id: string
  output: { stdout: string; stderr: string; outcome: { type: 'exit'; exit_code: number } | { type: 'timeout' } }[]
}

/** What became of a patch. */
export interface ApplyPatchCallOutput {
  type: 'apply_patch_call_output'
  call_id: string
  status: 'completed' | 'failed'
  output?: string | null
}

/** The tools that a search found. */
export interface ToolSearchOutput {
  type: 'tool_search_output'
  call_id: string
  execution: 'client'
  tools: []
}

/** The answer to a request for approval. */
export interface McpApprovalResponse {
  type: 'mcp_approval_response'
  approval_request_id: string
  approve: boolean
  reason?: string | null
}

/** A part of an input message. */
export type InputPart =
  | { type: 'input_text'; text: string }
  | { type: 'input_image'; image_url?: string; file_id?: string; detail: 'auto' | 'low' | 'high' | 'original' }
  | {
      type: 'input_file'
      file_data?: string
      file_id?: string
      file_url?: string
      filename?: string
      detail?: 'auto' | 'low' | 'high'
    }

type Status = 'in_progress' | 'completed' | 'incomplete'
