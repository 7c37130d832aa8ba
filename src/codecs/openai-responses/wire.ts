/**
 * The wire types of the OpenAI Responses API: `input` of a request, as far as this codec writes it itself. Assignable
 * to the SDK's `ResponseInput` (checked by a type test) without depending on it. Items of OpenAI's own tools are
 * returned unchanged and have the SDK's types. So does the output of a local shell, whose call id is `id` in those
 * types but `call_id` in the documentation and on the wire.
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

/** A message from anyone but the model. */
interface InputMessage {
  type?: 'message'
  role: 'user' | 'system' | 'developer'
  content: string | InputPart[]
}

/** An assistant message without the fields that only OpenAI sets. */
interface AssistantText {
  type?: 'message'
  role: 'assistant'
  content: string
  phase?: 'commentary' | 'final_answer' | null
}

/** An assistant message as returned by OpenAI. */
interface OutputMessage {
  type: 'message'
  id: string
  role: 'assistant'
  status: 'in_progress' | 'completed' | 'incomplete'
  content: ({ type: 'output_text'; text: string; annotations: [] } | { type: 'refusal'; refusal: string })[]
  phase?: 'commentary' | 'final_answer' | null
}

/** The model's reasoning, to be returned unchanged. */
interface ReasoningItem {
  type: 'reasoning'
  id: string
  summary: { type: 'summary_text'; text: string }[]
  content?: { type: 'reasoning_text'; text: string }[]
  encrypted_content?: string | null
  status?: OutputMessage['status']
}

/** A function call. */
interface FunctionCall {
  type: 'function_call'
  call_id: string
  name: string
  arguments: string
  id?: string
  status?: OutputMessage['status']
}

/** A function's result. */
interface FunctionCallOutput {
  type: 'function_call_output'
  call_id: string
  output: string | InputPart[]
}

/** A custom tool call, whose input is text. */
interface CustomToolCall {
  type: 'custom_tool_call'
  call_id: string
  name: string
  input: string
  id?: string
}

/** A custom tool's result. */
interface CustomToolCallOutput {
  type: 'custom_tool_call_output'
  call_id: string
  output: string | InputPart[]
}

/** A computer call's result: a screenshot. */
interface ComputerCallOutput {
  type: 'computer_call_output'
  call_id: string
  output: { type: 'computer_screenshot'; image_url?: string; file_id?: string }
}

/** A shell call's result. */
interface ShellCallOutput {
  type: 'shell_call_output'
  call_id: string
  output: { stdout: string; stderr: string; outcome: { type: 'exit'; exit_code: number } | { type: 'timeout' } }[]
}

/** An `apply_patch` result. */
interface ApplyPatchCallOutput {
  type: 'apply_patch_call_output'
  call_id: string
  status: 'completed' | 'failed'
  output?: string | null
}

/** A tool search's result: the tools it found. */
interface ToolSearchOutput {
  type: 'tool_search_output'
  call_id: string
  execution: 'client'
  tools: []
}

/** The answer to an approval request. */
interface McpApprovalResponse {
  type: 'mcp_approval_response'
  approval_request_id: string
  approve: boolean
  reason?: string | null
}

/** A part of an input message. */
type InputPart =
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
