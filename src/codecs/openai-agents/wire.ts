/**
 * The wire of the OpenAI Agents SDK: what its sessions keep and its runner takes. Assignable to the SDK's
 * `AgentInputItem[]` (a type test says so) without depending on it.
 *
 * Source  `@openai/agents-core` 0.20.0, types/protocol
 */

/** An item of a conversation. */
export type AgentsItem =
  | AgentsSpoken
  | AgentsReasoning
  | AgentsFunctionCall
  | AgentsFunctionResult
  | AgentsComputerOutput
  | AgentsShellOutput
  | AgentsApplyPatchOutput

/** What somebody says. */
export type AgentsSpoken =
  | { type: 'message'; role: 'system'; content: string }
  | { type: 'message'; role: 'user'; content: string | AgentsInput[] }
  | {
      type: 'message'
      role: 'assistant'
      status: 'completed'
      content: ({ type: 'output_text'; text: string } | { type: 'refusal'; refusal: string })[]
    }

/** What a user, or a tool, says. */
export type AgentsInput =
  | { type: 'input_text'; text: string }
  | { type: 'input_image'; image: string }
  | { type: 'input_file'; file: string; filename?: string }

/** What the model thought. */
export interface AgentsReasoning {
  type: 'reasoning'
  content: { type: 'input_text'; text: string }[]
  rawContent?: { type: 'reasoning_text'; text: string }[]
}

/** A call of a function. */
export interface AgentsFunctionCall {
  type: 'function_call'
  callId: string
  name: string
  status: 'completed'
  arguments: string
}

/** What a function answered. */
export interface AgentsFunctionResult {
  type: 'function_call_result'
  callId: string
  name: string
  status: 'completed'
  output: string | AgentsInput[]
}

/** A screenshot. */
export interface AgentsComputerOutput {
  type: 'computer_call_result'
  callId: string
  output: { type: 'computer_screenshot'; data: string }
}

/** What commands printed. */
export interface AgentsShellOutput {
  type: 'shell_call_output'
  callId: string
  output: {
    stdout: string
    stderr: string
    outcome: { type: 'timeout' } | { type: 'exit'; exitCode: number | null }
  }[]
}

/** Whether a patch was applied. */
export interface AgentsApplyPatchOutput {
  type: 'apply_patch_call_output'
  callId: string
  status: 'completed' | 'failed'
  output?: string
}
