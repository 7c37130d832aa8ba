/**
 * The calls of the Responses API that the client answers, each with its item of output: function calls, custom tools,
 * and the tools of OpenAI's own that run on the client's side. Calls that OpenAI runs itself have no such pair.
 *
 * Source  OpenAI API reference, Responses: input items, and the `required_input` of a pending response (2026-11)
 */
export interface CallKind {
  readonly call: string
  readonly output: string
  /** The fields with the id that pairs the two. */
  readonly id: string
  readonly outputId: string
  /** What the call is named in the message model. Absent where the item says it. */
  readonly name?: string
  /** The field with what is asked. In the message model it is `arguments`: the text, or the JSON where it is an object. */
  readonly asks: string
  readonly asText?: true
  /** The field with the answer. */
  readonly answers: string
}

/** What most kinds have alike. */
const alike = { id: 'call_id', outputId: 'call_id', asks: 'action', answers: 'output' } as const

export const functionCall: CallKind = {
  ...alike,
  call: 'function_call',
  output: 'function_call_output',
  asks: 'arguments',
  asText: true,
}

const kinds: readonly CallKind[] = [
  functionCall,
  { ...alike, call: 'custom_tool_call', output: 'custom_tool_call_output', asks: 'input', asText: true },
  { ...alike, call: 'computer_call', output: 'computer_call_output', name: 'computer' },
  { ...alike, call: 'local_shell_call', output: 'local_shell_call_output', name: 'local_shell' },
  { ...alike, call: 'shell_call', output: 'shell_call_output', name: 'shell' },
  {
    ...alike,
    call: 'apply_patch_call',
    output: 'apply_patch_call_output',
    name: 'apply_patch',
    asks: 'operation',
  },
  {
    ...alike,
    call: 'tool_search_call',
    output: 'tool_search_output',
    name: 'tool_search',
    asks: 'arguments',
    answers: 'tools',
  },
  {
    call: 'mcp_approval_request',
    output: 'mcp_approval_response',
    id: 'id',
    outputId: 'approval_request_id',
    asks: 'arguments',
    asText: true,
    answers: 'reason',
  },
]

/** By the type of the call's item. */
export const kindOfCall: ReadonlyMap<unknown, CallKind> = new Map(kinds.map((kind) => [kind.call, kind]))

/** By the type of the output's item. */
export const kindOfOutput: ReadonlyMap<unknown, CallKind> = new Map(kinds.map((kind) => [kind.output, kind]))

export const longestCallId = 64
