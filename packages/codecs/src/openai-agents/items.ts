/** The default form of items: `encode` writes it, and `decode` keeps any difference. */
import type { ReasoningPart } from 'indelible/message'
import { ownField } from 'indelible/internal/json'
import { type MutableObject, urlOf, type Resolved } from 'indelible/internal/codecs'

export const format = 'openai-agents'

/** A kind of call that the application answers. */
export interface CallKind {
  readonly call: string
  readonly output: string
  /** The field with the input: text, or JSON if the kind has a fixed name in the message model. */
  readonly asks: string
  readonly name?: string | undefined
}

export const functionCall: CallKind = {
  call: 'function_call',
  output: 'function_call_result',
  asks: 'arguments',
  name: undefined,
}

const kinds: readonly CallKind[] = [
  functionCall,
  { call: 'computer_call', output: 'computer_call_result', asks: 'action', name: 'computer' },
  { call: 'shell_call', output: 'shell_call_output', asks: 'action', name: 'shell' },
  { call: 'apply_patch_call', output: 'apply_patch_call_output', asks: 'operation', name: 'apply_patch' },
]

export const kindOfCall: ReadonlyMap<unknown, CallKind> = new Map(kinds.map((kind) => [kind.call, kind]))

export const kindOfOutput: ReadonlyMap<unknown, CallKind> = new Map(kinds.map((kind) => [kind.output, kind]))

/** `content` is a string or parts. */
export const messageItem = (role: string, content: unknown): MutableObject => ({
  type: 'message',
  role,
  ...(role === 'assistant' && { status: 'completed' }),
  content,
})

export const inputText = (text: string): MutableObject => ({ type: 'input_text', text })
export const outputText = (text: string): MutableObject => ({ type: 'output_text', text })
export const refusalText = (refusal: string): MutableObject => ({ type: 'refusal', refusal })
export const inputImage = (source: Resolved): MutableObject => ({ type: 'input_image', image: urlOf(source) })
export const inputFile = (source: Resolved, name: string | undefined): MutableObject => ({
  type: 'input_file',
  file: urlOf(source),
  ...(name !== undefined && { filename: name }),
})
export const screenshot = (source: Resolved): MutableObject => ({ type: 'computer_screenshot', data: urlOf(source) })

export const reasoningItem = ({ text, summary = [] }: Pick<ReasoningPart, 'text' | 'summary'>): MutableObject => ({
  type: 'reasoning',
  content: summary.map(inputText),
  ...(text !== '' && { rawContent: [{ type: 'reasoning_text', text }] }),
})

/** `asked` is text, or JSON for kinds that require it. */
export const callItem = (kind: CallKind, callId: string, name: string, input: unknown): MutableObject => ({
  type: kind.call,
  callId,
  ...(ownField(kind, 'name') === undefined && { name }),
  status: 'completed',
  // A computer call has one action, or several with later models.
  [kind.call === 'computer_call' && Array.isArray(input) ? 'actions' : kind.asks]: input,
})

/** @param answer omitted if undefined */
export const outputItem = (
  kind: CallKind,
  callId: string,
  name: string,
  answer: unknown,
  isError: boolean,
): MutableObject => ({
  type: kind.output,
  callId,
  ...(ownField(kind, 'name') === undefined && { name, status: 'completed' }),
  ...(kind.call === 'apply_patch_call' && { status: isError ? 'failed' : 'completed' }),
  ...(answer !== undefined && { output: answer }),
})

/** The role written in an item. */
export const speakerOf = (role: string): string => (role === 'tool' ? 'user' : role === 'developer' ? 'system' : role)
