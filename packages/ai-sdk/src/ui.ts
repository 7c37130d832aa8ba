/** UI messages of a conversation, and the chunks that make a page build a part of one. */
import type { ProviderMetadata, UIMessage, UIMessageChunk } from 'ai'
import { aiUiMessages } from '@indelible/codecs/ai-sdk'
import type { CodecFault } from 'indelible/codecs'
import { codecFaultText } from 'indelible/internal/codecs'
import { isLeft, ownField, present } from 'indelible/internal/json'
import type { Message, ToolResultPart } from 'indelible/message'
import { type Decisions, toolOutput, type ToolOutput } from 'indelible/run'
import { waitingStep, type CallResult, type Denial, type OpenAnswer } from 'indelible/internal/run'
import type { Session } from 'indelible/session'
import type { Sequence } from 'indelible/internal/sequence'
import { FaultError } from 'indelible/internal/task'

export type UIPart = UIMessage['parts'][number]

export const faultOf = (fault: CodecFault): FaultError => new FaultError(fault, codecFaultText(fault))

/**
 * The messages as `useChat` has them.
 *
 * @param offset the number of messages before the first one, for the ids of messages that have none. Default: 0
 */
export const uiMessagesOf = (messages: Sequence<Message>, offset = 0): UIMessage[] => {
  const encoded = aiUiMessages.encode(messages, { allow: 'unsettled' })
  if (isLeft(encoded)) throw faultOf(encoded.left as CodecFault) // `unsettled` allows any pairing
  const wire = encoded.right.wire as UIMessage[]
  for (const message of wire) {
    const index = Number(/^msg-(\d+)$/.exec(message.id)?.[1])
    const first = messages.at(index)
    if (first === undefined || first.id !== undefined) continue
    message.id = `msg-${offset + index}`
    if (message.role === 'assistant' && first.meta?.['ai-sdk-ui'] === undefined)
      message.parts = withReasoningIds(message.parts)
  }
  return wire
}

/** Gives reasoning from a run the ids that its stream used. */
const withReasoningIds = (parts: readonly UIPart[]): UIPart[] => {
  let [step, next] = [-1, 0]
  return parts.map((part) => {
    if (part.type === 'step-start') [step, next] = [step + 1, 0]
    else if (part.type === 'reasoning' && ownField(part, 'id') === undefined)
      return { ...part, id: blockId(step, next++) }
    else next += 1
    return part
  })
}

/** The id of a block from a run: its step in the message, and its part in the step. */
export const blockId = (step: number, part: number): string => `${step}-${part}`

/** The messages of a step that waits for approval, as they will be recorded. */
export const waitingMessages = ({ response, results }: OpenAnswer): readonly Message[] => [
  response.message,
  ...(results.length === 0 ? [] : [{ role: 'tool', content: results } as const]),
]

/**
 * The message with its waiting calls in the state `approval-requested`, each with its token as the id of the request. Calls
 * of tools that the page runs stay `input-available`.
 */
export const withRequests = (message: UIMessage, { calls }: OpenAnswer): UIMessage => ({
  ...message,
  parts: message.parts.map((part) => {
    const waiting = isToolPart(part) && calls.find(({ id }) => id === part.toolCallId)
    return waiting === undefined || waiting === false || waiting.needs === 'result' || part.state !== 'input-available'
      ? part
      : ({ ...part, state: 'approval-requested', approval: { id: waiting.approval } } as UIPart)
  }),
})

/** A tool part, with the fields of all its states. */
export interface AnyToolPart {
  readonly type: `tool-${string}` | 'dynamic-tool'
  readonly toolName?: string
  readonly toolCallId: string
  readonly state: string
  readonly input?: unknown
  readonly rawInput?: unknown
  readonly inputEncoding?: 'json' | 'text'
  readonly output?: unknown
  readonly errorText?: string
  readonly preliminary?: boolean
  readonly title?: string
  readonly toolMetadata?: never
  readonly providerExecuted?: boolean
  readonly callProviderMetadata?: ProviderMetadata
  readonly resultProviderMetadata?: ProviderMetadata
  readonly approval?: {
    readonly id: string
    readonly approved?: boolean
    readonly reason?: string
    readonly requestReason?: string
    readonly isAutomatic?: boolean
    readonly signature?: string
    readonly descriptor?: unknown
    readonly inputSchemaInput?: unknown
  }
}

export const isToolPart = (part: UIPart): part is UIPart & AnyToolPart =>
  part.type.startsWith('tool-') || part.type === 'dynamic-tool'

const toolNameOf = (part: AnyToolPart): string =>
  part.type === 'dynamic-tool' ? String(part.toolName) : part.type.slice('tool-'.length)

/** The chunks that make a page show a whole part. `id`: that of a text. None for a kind that chunks can't express. */
export function* chunksOf(part: UIPart, id: string): Generator<UIMessageChunk> {
  switch (part.type) {
    case 'text': {
      const { providerMetadata, citations } = part
      yield { type: 'text-start', id, ...present({ providerMetadata }) }
      if (part.text !== '') yield { type: 'text-delta', id, delta: part.text }
      if (part.state !== 'streaming') yield { type: 'text-end', id, ...present({ citations }) }
      return
    }
    case 'reasoning': {
      const own = typeof part.id === 'string' ? part.id : id
      yield { type: 'reasoning-start', id: own }
      if (part.text !== '') yield { type: 'reasoning-delta', id: own, delta: part.text }
      if (part.state !== 'streaming')
        yield { type: 'reasoning-end', id: own, ...present({ providerMetadata: part.providerMetadata }) }
      return
    }
    case 'step-start':
      return yield { type: 'start-step' }
    default:
      if (isToolPart(part)) {
        yield* inputChunks(part)
        yield* answerChunks(part)
      } else yield part as UIMessageChunk // files, sources, data: the chunk has the fields of the part
  }
}

/** The call of a tool part. */
export function* inputChunks(part: AnyToolPart): Generator<UIMessageChunk> {
  const { toolCallId, title, toolMetadata, providerExecuted, inputEncoding, rawInput } = part
  const call = {
    toolCallId,
    toolName: toolNameOf(part),
    ...present({ title, toolMetadata, providerExecuted, providerMetadata: part.callProviderMetadata }),
    ...(part.type === 'dynamic-tool' && { dynamic: true }),
  }
  if (part.state !== 'input-streaming') return yield { type: 'tool-input-available', ...call, input: part.input }
  yield { type: 'tool-input-start', ...call, ...present({ inputEncoding }) }
  if (typeof rawInput === 'string') yield { type: 'tool-input-delta', toolCallId, inputTextDelta: rawInput }
}

/** The approval and the result of a tool part, if it has them. */
function* answerChunks(part: AnyToolPart): Generator<UIMessageChunk> {
  yield* requestChunks(part)
  yield* responseChunks(part)
  yield* resultChunks(part)
}

export function* requestChunks({ toolCallId, approval }: AnyToolPart): Generator<UIMessageChunk> {
  if (approval === undefined) return
  const { id, requestReason, isAutomatic, signature, descriptor } = approval
  yield {
    type: 'tool-approval-request',
    approvalId: id,
    toolCallId,
    ...present({ reason: requestReason, isAutomatic, signature, approvalDescriptor: descriptor }),
    ...(Object.hasOwn(approval, 'inputSchemaInput') && { inputSchemaInput: approval.inputSchemaInput }),
  }
}

export function* responseChunks({ approval }: AnyToolPart): Generator<UIMessageChunk> {
  if (approval?.approved === undefined) return
  const { id, approved, reason } = approval
  yield { type: 'tool-approval-response', approvalId: id, approved, ...present({ reason }) }
}

export function* resultChunks(part: AnyToolPart): Generator<UIMessageChunk> {
  const { toolCallId, providerExecuted, preliminary, resultProviderMetadata: providerMetadata } = part
  const result = { toolCallId, ...present({ providerExecuted, providerMetadata }) }
  if (part.state === 'output-available')
    yield { type: 'tool-output-available', ...result, output: part.output, ...present({ preliminary }) }
  else if (part.state === 'output-error')
    yield { type: 'tool-output-error', ...result, errorText: part.errorText ?? '' }
  else if (part.state === 'output-denied') yield { type: 'tool-output-denied', toolCallId }
}

/** The tool part of a call and its result, as it will be loaded. */
export const toolPartOf = (
  call: Extract<Message['content'][number], { readonly type: 'tool_call' }>,
  result?: ToolResultPart,
): AnyToolPart => {
  const [message] = uiMessagesOf([
    { role: 'assistant', content: [call] },
    ...(result === undefined ? [] : [{ role: 'tool', content: [result] } as const]),
  ])
  return message?.parts.find((part) => isToolPart(part)) as unknown as AnyToolPart
}

/** A part without what may change while it is shown: a call's state and result. Equal texts are equal parts. */
export const identityOf = (part: UIPart): string => {
  if (isToolPart(part)) {
    const { type, toolCallId, input, callProviderMetadata, providerExecuted } = part as AnyToolPart
    return JSON.stringify([type, toolCallId, input, callProviderMetadata, providerExecuted === true])
  }
  const { id: _, ...rest } = part as UIPart & { readonly id?: unknown }
  return JSON.stringify(rest)
}

/** Whether a part has the request of a run, whose id is the token of the call. */
export const isOwnRequest = ({ approval }: AnyToolPart): boolean => approval?.id.startsWith('approval_') === true

/**
 * The decisions about waiting calls in the messages of a page, as `addToolApprovalResponse` of `useChat` writes them, and
 * the results of tools without `run`, as `addToolOutput` writes them.
 *
 * @param messages the messages that the page sent; what they say of other calls than those that wait has no effect
 * @param session the chat's session, for the results: it knows which calls wait for one. Default: only decisions are read
 * @returns the tokens to approve and deny, and the results, for `resume`
 * @example
 * const answer = resume(session, { model, tools, ...approvalsIn(messages, session) })
 * return createUIMessageStreamResponse({ stream: toUIMessageStream(answer, { originalMessages: messages }) })
 */
export const approvalsIn = (messages: readonly UIMessage[], session?: Session): Required<Decisions> => {
  const approve: string[] = []
  const deny: Denial[] = []
  const results: CallResult[] = []
  const calls = session === undefined ? [] : (waitingStep(session)?.calls ?? [])
  for (const part of messages.at(-1)?.parts ?? []) {
    if (!isToolPart(part)) continue
    const { state, approval, toolCallId } = part as AnyToolPart
    if (approval !== undefined && isOwnRequest(part) && state === 'approval-responded') {
      const { id, approved, reason } = approval
      if (approved === true) approve.push(id)
      else deny.push({ approval: id, ...present({ reason }) })
      continue
    }
    const call = calls.find(({ id, needs }) => id === toolCallId && needs === 'result')
    const result = call && resultIn(part)
    if (call !== undefined && result !== undefined) results.push({ approval: call.approval, output: result })
  }
  return { approve, deny, results }
}

/** The result of a tool part that has one, which is loaded again as the page has it. */
const resultIn = (part: UIPart): ToolOutput | undefined => {
  const read = aiUiMessages.decode([{ id: 'result', role: 'assistant', parts: [part] } as unknown as UIMessage])
  if (isLeft(read)) throw faultOf(read.left)
  const [result] = read.right.messages.flatMap(({ content }) => content.filter(({ type }) => type === 'tool_result'))
  if (result?.type !== 'tool_result') return undefined
  return toolOutput(result.content, { isError: result.isError === true, ...present({ meta: result.meta }) })
}
