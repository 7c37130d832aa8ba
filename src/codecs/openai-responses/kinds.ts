/**
 * The Responses API calls that the client answers, each with its output item: functions, custom tools, and OpenAI's
 * tools that run on the client. Calls that OpenAI runs itself are not included.
 *
 * Source  OpenAI API reference, Responses: input items, and the `required_input` of a pending response (2026-11)
 */
export interface CallKind {
  readonly call: string
  readonly output: string
  /** The fields with the id that links call and output. */
  readonly id: string
  readonly outputId: string
  /** The call's name in the message model. Absent if the item has it. */
  readonly name?: string
  /** The field with the input. In the message model it is `arguments`: the text, or an object as JSON. */
  readonly asks: string
  readonly asText?: true
  /** The field with the result. */
  readonly answers: string
}

/** The values shared by most kinds. */
const commonFields = { id: 'call_id', outputId: 'call_id', asks: 'action', answers: 'output' } as const

export const functionCall: CallKind = {
  ...commonFields,
  call: 'function_call',
  output: 'function_call_output',
  asks: 'arguments',
  asText: true,
}

const kinds: readonly CallKind[] = [
  functionCall,
  { ...commonFields, call: 'custom_tool_call', output: 'custom_tool_call_output', asks: 'input', asText: true },
  { ...commonFields, call: 'computer_call', output: 'computer_call_output', name: 'computer' },
  { ...commonFields, call: 'local_shell_call', output: 'local_shell_call_output', name: 'local_shell' },
  { ...commonFields, call: 'shell_call', output: 'shell_call_output', name: 'shell' },
  {
    ...commonFields,
    call: 'apply_patch_call',
    output: 'apply_patch_call_output',
    name: 'apply_patch',
    asks: 'operation',
  },
  {
    ...commonFields,
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

export const kindOfCall: ReadonlyMap<unknown, CallKind> = new Map(kinds.map((kind) => [kind.call, kind]))

export const kindOfOutput: ReadonlyMap<unknown, CallKind> = new Map(kinds.map((kind) => [kind.output, kind]))

export const longestCallId = 64
