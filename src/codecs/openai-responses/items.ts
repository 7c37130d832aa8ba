/** The default form of items: `encode` writes it, and `decode` keeps any difference. */
import { ownField } from '../../json/index.ts'
import type { FilePart, ReasoningPart } from '../../message/index.ts'
import type { MutableObject } from '../residual.ts'
import { urlOf, type Resolved } from '../source.ts'
import type { CallKind } from './kinds.ts'

/** `content` is a string or parts. */
export const messageItem = (role: string, content: unknown): MutableObject => ({ type: 'message', role, content })

export const inputText = (text: string): MutableObject => ({ type: 'input_text', text })

export const outputText = (text: string): MutableObject => ({ type: 'output_text', text, annotations: [] })

export const refusalText = (refusal: string): MutableObject => ({ type: 'refusal', refusal })

export const inputImage = (source: Resolved): MutableObject => ({
  type: 'input_image',
  image_url: urlOf(source),
  detail: 'auto',
})

export const inputFile = (source: Resolved, name: FilePart['name']): MutableObject => ({
  type: 'input_file',
  ...(source.type === 'url' ? { file_url: source.url } : { file_data: urlOf(source) }),
  ...(name !== undefined && { filename: name }),
})

export const inputAudio = (data: string, mediaType: string): MutableObject => ({
  type: 'input_audio',
  input_audio: { data, format: mediaType === 'audio/wav' ? 'wav' : 'mp3' },
})

export const screenshot = (source: Resolved): MutableObject => ({
  type: 'computer_screenshot',
  image_url: urlOf(source),
})

export const reasoningItem = ({
  text,
  summary = [],
  encrypted,
}: Pick<ReasoningPart, 'text' | 'summary' | 'encrypted'>): MutableObject => ({
  type: 'reasoning',
  summary: summary.map((each) => ({ type: 'summary_text', text: each })),
  ...(text !== '' && { content: [{ type: 'reasoning_text', text }] }),
  ...(encrypted !== undefined && { encrypted_content: encrypted }),
})

/** `asked` is text, or JSON for kinds that require it. */
export const callItem = (kind: CallKind, id: string, name: string, input: unknown): MutableObject => ({
  type: kind.call,
  [kind.id]: id,
  ...(ownField(kind, 'name') === undefined && { name }),
  ...(kind.call === 'tool_search_call' && { execution: 'client' }),
  // A computer call has one action, or several with later models.
  [kind.call === 'computer_call' && Array.isArray(input) ? 'actions' : kind.asks]: input,
})

/**
 * @param answer omitted if undefined and the kind allows it
 * @param caller the OpenAI program that made the call; its result names it too
 */
export const outputItem = (
  kind: CallKind,
  callId: string,
  answer: unknown,
  isError: boolean,
  caller: unknown,
): MutableObject => ({
  type: kind.output,
  [kind.outputId]: callId,
  ...(kind.call === 'apply_patch_call' && { status: isError ? 'failed' : 'completed' }),
  ...(kind.call === 'tool_search_call' && { execution: 'client' }),
  ...(kind.call === 'mcp_approval_request' && { approve: !isError }),
  ...(answer !== undefined && { [kind.answers]: answer }),
  ...(caller !== undefined && { caller }),
})
