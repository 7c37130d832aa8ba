/**
 * The wire types of the OpenAI Agents SDK, as stored in its sessions and passed to its runner.
 * Assignable to the SDK's `AgentInputItem[]` (checked by a type test) without depending on it.
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

/** A message. */
type AgentsSpoken =
  | { type: 'message'; role: 'system'; content: string }
  | { type: 'message'; role: 'user'; content: string | AgentsInput[] }
  | {
      type: 'message'
      role: 'assistant'
      status: 'completed'
      content: ({ type: 'output_text'; text: string } | { type: 'refusal'; refusal: string })[]
    }

/** An input part from a user or tool. */
export type AgentsInput =
  | { type: 'input_text'; text: string }
  | { type: 'input_image'; image: string }
  | { type: 'input_file'; file: string; filename?: string }

/** Reasoning. */
interface AgentsReasoning {
  type: 'reasoning'
  content: { type: 'input_text'; text: string }[]
  rawContent?: { type: 'reasoning_text'; text: string }[]
}

/** A function call. */
interface AgentsFunctionCall {
  type: 'function_call'
  callId: string
  name: string
  status: 'completed'
  arguments: string
}

/** A function's result. */
interface AgentsFunctionResult {
  type: 'function_call_result'
  callId: string
  name: string
  status: 'completed'
  output: string | AgentsInput[]
}

/** A computer call's result: a screenshot. */
interface AgentsComputerOutput {
  type: 'computer_call_result'
  callId: string
  output: { type: 'computer_screenshot'; data: string }
}

/** A shell call's result: the output of its commands. */
interface AgentsShellOutput {
  type: 'shell_call_output'
  callId: string
  output: {
    stdout: string
    stderr: string
    outcome: { type: 'timeout' } | { type: 'exit'; exitCode: number | null }
  }[]
}

/** An `apply_patch` result. */
interface AgentsApplyPatchOutput {
  type: 'apply_patch_call_output'
  callId: string
  status: 'completed' | 'failed'
  output?: string
}
