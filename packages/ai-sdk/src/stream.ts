/** Converts a run to a stream of UI message chunks for `useChat`. */
import type { FinishReason as AiFinishReason, UIMessage, UIMessageChunk } from 'ai'
import { optionsOf, present } from 'indelible/internal/json'
import type { Message, Part, ToolCallPart, ToolResultPart } from 'indelible/message'
import type { ModelEvent, RunEvent, RunResult, RunStream } from 'indelible/run'
import {
  blockId,
  chunksOf,
  identityOf,
  inputChunks,
  isToolPart,
  requestChunks,
  responseChunks,
  resultChunks,
  toolPartOf,
  uiMessagesOf,
  waitingMessages,
  withRequests,
  type AnyToolPart,
  type UIPart,
} from './ui.ts'
import type { OpenAnswer } from 'indelible/internal/run'
import type { RunFailure } from 'indelible/run'

/** The options of a UI message stream. */
export interface UIStreamOptions {
  /**
   * The id of the streamed message. Default: that of the message that the run continues; otherwise `msg-` and the
   * length of the run's view, as in `loadChat`.
   */
  readonly messageId?: string
  /**
   * The messages that the page has, as in `toUIMessageStream` of the AI SDK. If the last one is the assistant's, the
   * stream continues it and sends only what is new: pass them in the route that receives an approval. Default: the
   * stream of a run that continues an answer starts with the whole message, so that a page that lacks it can read it.
   */
  readonly originalMessages?: readonly UIMessage[]
  /** The error text for the reader. Default: "The answer failed." */
  readonly onError?: (error: unknown) => string
}

/**
 * The events of a run as UI message chunks, for `createUIMessageStreamResponse` and `useChat`. Steps stay steps, and
 * the resulting client message equals the one that `loadChat` returns once a `sessionHandler` has stored the run.
 *
 * A call that waits for an approval is a `tool-approval-request`, whose id is the call's token. A turn whose input was
 * answered before, also by another request, streams that answer from the record.
 *
 * Reading the stream reads the run. Cancelling it, as the stop button does, interrupts the run: what was shown is
 * recorded, marked as interrupted. To keep a run going without its reader, pass the stream to
 * `chatStreams(store).publish`.
 *
 * Source  `ai` 7.0.173, `UIMessageChunk`
 *
 * @param options the id of the message, the page's messages, and the text for errors
 * @example
 * const answer = turn(session, message, { model, tools, whenBusy: 'wait' })
 * return createUIMessageStreamResponse({ stream: toUIMessageStream(answer) })
 */
export const toUIMessageStream = <F = RunFailure>(
  stream: RunStream<F>,
  options: UIStreamOptions = {},
): ReadableStream<UIMessageChunk> => {
  const {
    messageId,
    originalMessages = [],
    onError = () => 'The answer failed.',
  } = optionsOf('toUIMessageStream', options, { messageId: true, originalMessages: true, onError: true })
  if (!Array.isArray(originalMessages))
    throw new TypeError('toUIMessageStream: `originalMessages` is not an array of UI messages')
  const last = originalMessages.at(-1) as UIMessage | undefined
  const events = stream[Symbol.asyncIterator]()
  const writer = new Chunks(messageId, last?.role === 'assistant' ? last : undefined, onError)
  let ready: UIMessageChunk[] = []
  return new ReadableStream<UIMessageChunk>({
    pull: async (controller) => {
      while (ready.length === 0) {
        const next: IteratorResult<RunEvent, unknown> = await events.next()
        if (next.done === true) {
          // A failed run has no `run_complete`; its result has the reason.
          const result = await stream.result()()
          for (const chunk of writer.end(result._tag === 'Left' ? result.left : undefined)) controller.enqueue(chunk)
          return controller.close()
        }
        ready = [...writer.of(next.value)]
      }
      for (const chunk of ready) controller.enqueue(chunk)
      ready = []
    },
    cancel: () => {
      stream.interrupt()
      void events.return?.()
    },
  })
}

/** A part that the page has of the current step. `index`: that of its block, if it came in a block. */
interface ShownPart {
  readonly index: number | undefined
  identity: string
}

class Chunks {
  readonly #id: string | undefined
  /** The assistant message that the page has and the run continues. */
  readonly #original: UIMessage | undefined
  readonly #onError: (error: unknown) => string
  #started = false
  #ended = false
  #inStep = false
  /** Whether the step's answer was interrupted, and what is kept of it is not known yet. */
  #isCut = false
  /** The index of the step in the message, and the parts that the page has of it. */
  #step = -1
  #shown: ShownPart[] = []
  /** Open blocks of text and reasoning, by index. */
  readonly #open = new Map<number, { readonly id: string; readonly block: 'text' | 'reasoning' }>()
  /** The parts of the step so far, among them those that only the provider knows. */
  #content: Part[] = []
  /** Streaming calls by block index, and all calls of the step by id. */
  readonly #streaming = new Map<number, string>()
  readonly #calls = new Map<string, ToolCallPart>()
  /** The ids of the calls, requests, responses and results that were sent. */
  readonly #sent = {
    call: new Set<string>(),
    request: new Set<string>(),
    response: new Set<string>(),
    result: new Set<string>(),
  }
  /** The tokens of waiting calls, by call id. */
  readonly #tokens = new Map<string, string>()

  constructor(id: string | undefined, original: UIMessage | undefined, onError: (error: unknown) => string) {
    this.#id = id
    this.#original = original
    this.#onError = onError
  }

  *of(event: RunEvent): Generator<UIMessageChunk> {
    switch (event.type) {
      case 'step_start':
        if (this.#isCut) yield* this.#settle(undefined)
        if (!this.#started) yield* this.#start(event)
        return
      case 'model_event':
        return yield* this.#model(event.event)
      case 'tool_call_start': {
        yield* this.#input(event.call)
        const id = this.#tokens.get(event.call.id)
        if (id !== undefined)
          yield* this.#once('response', { ...toolPartOf(event.call), approval: { id, approved: true } }, responseChunks)
        return
      }
      case 'tool_result':
        return yield* this.#output(event.result)
      case 'step_complete':
        yield* this.#settle(event.response.message)
        for (const result of event.results) yield* this.#output(result)
        return yield* this.#endStep()
      case 'approval':
        yield* this.#settle(event.open.response.message)
        yield* this.#waiting(event.open)
        return yield* this.#endStep()
      case 'interrupted':
        // With tools running, the answer is complete, and its step has ended.
        if (!this.#inStep) return
        this.#isCut = true
        if (event.behavior === 'discard') yield* this.#settle(undefined)
        return
      case 'history_delta': {
        if (!this.#inStep) return // its step is shown
        const messages = event.append as readonly Message[]
        const answer = messages.find(({ role }) => role === 'assistant')
        yield* this.#settle(answer)
        if (answer === undefined) return // the next answer takes the place of the step
        for (const { content } of messages)
          for (const part of content) if (part.type === 'tool_result') yield* this.#output(part)
        return yield* this.#endStep()
      }
      case 'run_complete': {
        const { stopReason } = event.result
        if (this.#isCut) yield* this.#settle(undefined)
        if (!this.#started) yield* this.#recorded(event.result)
        yield* this.#endStep()
        this.#ended = true
        if (stopReason === 'error') yield { type: 'error', errorText: this.#onError(event.result) }
        else if (stopReason === 'cancelled') yield { type: 'abort' }
        else yield { type: 'finish', finishReason: reasons[stopReason] ?? 'other' }
        return
      }
      default: // a run that could not start: `end` reports it
    }
  }

  /** The end of a stream: an error chunk unless the run ended on its own. */
  *end(fault: unknown): Generator<UIMessageChunk> {
    if (this.#ended) return
    yield* this.#endStep()
    yield { type: 'error', errorText: this.#onError(fault) }
  }

  /** Starts the message: a new one, or the one that the run continues. */
  *#start({
    len,
    continues = [],
    open,
  }: Extract<RunEvent, { readonly type: 'step_start' }>): Generator<UIMessageChunk> {
    const whole = continuedMessage(continues, len)
    yield* this.#startMessage(whole?.id ?? `msg-${len}`)
    if (this.#original === undefined) {
      yield* this.#show(whole?.parts ?? [])
      yield* this.#endStep()
    } else this.#has(this.#original, open)
    if (open === undefined) return
    for (const call of open.calls) this.#tokens.set(call.id, call.approval)
    for (const part of open.response.message.content) if (part.type === 'tool_call') this.#calls.set(part.id, part)
    if (this.#original !== undefined) return
    yield* this.#settle(open.response.message)
    yield* this.#waiting(open)
  }

  *#startMessage(id: string): Generator<UIMessageChunk> {
    this.#started = true
    yield { type: 'start', messageId: this.#id ?? this.#original?.id ?? id }
  }

  /** An answer that another run gave, or a step that waits, from the record. */
  *#recorded({ response, messages, stopReason, open }: RunResult): Generator<UIMessageChunk> {
    if (stopReason === 'approval' && open !== undefined) {
      const continues = trailingAnswer(messages)
      const message = continuedMessage(
        [...continues, ...waitingMessages(open)],
        messages.length + waitingMessages(open).length,
      )
      if (message === undefined) return
      yield* this.#startMessage(message.id)
      return yield* this.#show(withRequests(message, open).parts)
    }
    if (response === undefined || (stopReason !== 'answered' && stopReason !== 'end_turn')) return
    const at = messages.lastIndexOf(response)
    if (at === -1) return
    const before = trailingAnswer(messages.slice(0, at))
    const after = messages.slice(at).findIndex(({ role }) => role !== 'assistant' && role !== 'tool')
    const answer = [...before, ...messages.slice(at, after === -1 ? undefined : at + after)]
    const index = uiMessagesOf(answer.slice(0, before.length + 1)).length - 1
    const message = uiMessagesOf(answer, at - before.length)[index]
    if (message === undefined) return
    yield* this.#startMessage(message.id)
    yield* this.#show(message.parts)
  }

  /** Sends whole parts, with their steps. */
  *#show(parts: readonly UIPart[]): Generator<UIMessageChunk> {
    for (const part of parts) {
      if (part.type === 'step-start') {
        yield* this.#endStep()
        yield* this.#beginStep()
      } else {
        yield* chunksOf(part, blockId(this.#step, this.#shown.length))
        this.#remember(part)
      }
    }
  }

  /** The page has this message. If its last step waits, the run continues that step. */
  #has({ parts }: UIMessage, open: OpenAnswer | undefined): void {
    const last = parts.findLastIndex(({ type }) => type === 'step-start')
    this.#step = parts.filter(({ type }) => type === 'step-start').length - 1
    for (const part of parts) if (isToolPart(part)) this.#remember(part)
    this.#shown = []
    this.#inStep = open !== undefined
    if (open !== undefined) for (const part of parts.slice(last + 1)) this.#remember(part)
  }

  #remember(part: UIPart): void {
    this.#shown.push({ index: undefined, identity: identityOf(part) })
    if (!isToolPart(part)) return
    const { toolCallId, state, approval } = part as AnyToolPart
    this.#sent.call.add(toolCallId)
    if (approval !== undefined) this.#sent.request.add(toolCallId)
    if (approval?.approved !== undefined) this.#sent.response.add(toolCallId)
    if (state.startsWith('output-')) this.#sent.result.add(toolCallId)
  }

  *#beginStep(): Generator<UIMessageChunk> {
    if (this.#inStep) return
    this.#inStep = true
    this.#step += 1
    this.#shown = []
    yield { type: 'start-step' }
  }

  *#endStep(): Generator<UIMessageChunk> {
    for (const index of [...this.#open.keys()]) yield* this.#close(index)
    this.#streaming.clear()
    this.#isCut = false
    if (!this.#inStep) return
    this.#inStep = false
    this.#shown = []
    this.#content = []
    yield { type: 'finish-step' }
  }

  /** Makes the page's step that of the recorded answer. It differs if the answer was cut, or has parts that were not streamed. */
  *#settle(answer: Message | undefined): Generator<UIMessageChunk> {
    this.#isCut = false
    const whole = answer === undefined || answer.content.length === 0 ? undefined : uiMessagesOf([answer])[0]
    const parts = (whole?.parts ?? []).filter(({ type }) => type !== 'step-start')
    for (const part of answer?.content ?? []) if (part.type === 'tool_call') this.#calls.set(part.id, part)
    const isShown =
      this.#open.size === 0 &&
      parts.length === this.#shown.length &&
      parts.every((part, index) => identityOf(part) === this.#shown[index]?.identity)
    if (isShown) return
    // What is known only at the end of an answer, such as its sources, follows what was streamed.
    const isStart =
      this.#open.size === 0 &&
      this.#shown.length > 0 &&
      this.#shown.every(({ identity }, index) => {
        const part = parts[index]
        return part !== undefined && identity === identityOf(part)
      })
    if (isStart) {
      for (const part of parts.slice(this.#shown.length)) yield* this.#whole(part)
      return
    }
    if (this.#shown.length > 0) {
      this.#open.clear()
      this.#streaming.clear()
      const executed = parts.flatMap((part) =>
        isToolPart(part) && part.providerExecuted === true ? [part.toolCallId] : [],
      )
      for (const ids of Object.values(this.#sent)) for (const id of [...this.#calls.keys(), ...executed]) ids.delete(id)
      this.#shown = []
      yield { type: 'reset-step' }
    }
    if (parts.length > 0) yield* this.#beginStep()
    for (const part of parts) yield* this.#whole(part)
  }

  /** Sends a whole part that was not streamed. */
  *#whole(part: UIPart): Generator<UIMessageChunk> {
    yield* this.#beginStep()
    const id = blockId(this.#step, this.#shown.length)
    yield* chunksOf(part.type === 'reasoning' ? { ...part, id } : part, id)
    this.#remember(part)
  }

  /** The results and the requests of a waiting step. */
  *#waiting({ results, calls }: OpenAnswer): Generator<UIMessageChunk> {
    for (const result of results) yield* this.#output(result)
    for (const call of calls) {
      if (call.needs === 'result') continue // its input is there: the page runs it
      this.#tokens.set(call.id, call.approval)
      yield* this.#once('request', { ...toolPartOf(call), approval: { id: call.approval } }, requestChunks)
    }
  }

  *#close(index: number, part?: UIPart): Generator<UIMessageChunk> {
    const open = this.#open.get(index)
    this.#open.delete(index)
    if (open === undefined) return
    const metadata = part?.type === 'text' || part?.type === 'reasoning' ? part.providerMetadata : undefined
    yield { type: `${open.block}-end`, id: open.id, ...present({ providerMetadata: metadata }) }
  }

  *#model(event: ModelEvent): Generator<UIMessageChunk> {
    switch (event.type) {
      case 'block_start': {
        const { index, block, callId, name } = event
        if (block === 'tool_call' && callId !== undefined && name !== undefined) {
          yield* this.#beginStep()
          this.#streaming.set(index, callId)
          this.#shown.push({ index, identity: '' })
          yield { type: 'tool-input-start', toolCallId: callId, toolName: name }
        } else if (block === 'text' || block === 'refusal' || block === 'reasoning') {
          yield* this.#beginStep()
          const kind = block === 'reasoning' ? 'reasoning' : 'text'
          const id = blockId(this.#step, this.#shown.length)
          this.#open.set(index, { id, block: kind })
          this.#shown.push({ index, identity: '' })
          yield { type: `${kind}-start`, id }
        }
        return
      }
      case 'text_delta':
      case 'reasoning_delta': {
        const open = this.#open.get(event.index)
        if (open !== undefined) yield { type: `${open.block}-delta`, id: open.id, delta: event.text }
        return
      }
      case 'arguments_delta': {
        const toolCallId = this.#streaming.get(event.index)
        if (toolCallId !== undefined) yield { type: 'tool-input-delta', toolCallId, inputTextDelta: event.text }
        return
      }
      case 'block_end':
        return yield* this.#block(event.index, event.part)
      default: // signatures; the end of the answer, which `step_complete` handles
    }
  }

  /** A complete block. */
  *#block(index: number, part: Part): Generator<UIMessageChunk> {
    this.#content.push(part)
    yield* this.#ownPart(index, part)
    yield* this.#provided()
  }

  /** What a page shows of the provider's own parts: tools that it ran, with their results, files and sources. */
  *#provided(): Generator<UIMessageChunk> {
    const [message] = uiMessagesOf([{ role: 'assistant', content: this.#content }])
    for (const part of message?.parts ?? []) {
      if (isToolPart(part) && part.providerExecuted === true && !this.#calls.has(part.toolCallId)) {
        if (!this.#sent.call.has(part.toolCallId)) {
          yield* this.#beginStep()
          this.#shown.push({ index: undefined, identity: identityOf(part) })
          yield* this.#once('call', part, inputChunks)
        }
        if (part.state.startsWith('output-')) yield* this.#once('result', part, resultChunks)
      } else if (part.type === 'source-url' || part.type === 'file') {
        if (!this.#shown.some(({ identity }) => identity === identityOf(part))) yield* this.#whole(part)
      }
    }
  }

  *#ownPart(index: number, part: Part): Generator<UIMessageChunk> {
    if (part.type === 'tool_result') return yield* this.#output(part) // of a tool that the provider ran
    if (part.type === 'provider' && !part.provider.startsWith('ai-sdk')) return // see `#provided`
    if (part.type === 'tool_call') this.#calls.set(part.id, part)
    const [message] = uiMessagesOf([{ role: 'assistant', content: [part] }])
    const shown = message?.parts.find(({ type }) => type !== 'step-start')
    if (shown === undefined) return yield* this.#close(index) // the format can't say it
    const known = this.#shown.find((each) => each.index === index)
    if (known === undefined) {
      yield* this.#beginStep()
      if (!isToolPart(shown)) return yield* this.#whole(shown)
      this.#shown.push({ index, identity: identityOf(shown) })
    } else known.identity = identityOf(shown)
    yield* this.#close(index, shown)
    if (part.type === 'tool_call') yield* this.#input(part)
  }

  /** Chunks of a call that are sent once. */
  *#once(
    kind: 'call' | 'request' | 'response' | 'result',
    part: AnyToolPart,
    chunks: (part: AnyToolPart) => Iterable<UIMessageChunk>,
  ): Generator<UIMessageChunk> {
    if (this.#sent[kind].has(part.toolCallId)) return
    this.#sent[kind].add(part.toolCallId)
    yield* chunks(part)
  }

  /** The complete input of a call. */
  *#input(call: ToolCallPart): Generator<UIMessageChunk> {
    this.#calls.set(call.id, call)
    yield* this.#once('call', toolPartOf(call), inputChunks)
  }

  /** The result of a call, with the decision about it, sent once. */
  *#output(result: ToolResultPart): Generator<UIMessageChunk> {
    const call = this.#calls.get(result.callId)
    if (call === undefined || this.#sent.result.has(result.callId)) return
    const part = toolPartOf(call, result)
    if (part.approval !== undefined) {
      yield* this.#once('request', part, requestChunks)
      yield* this.#once('response', part, responseChunks)
    }
    yield* this.#once('result', part, resultChunks)
  }
}

/** The messages at the end that are part of one answer. */
const trailingAnswer = (messages: readonly Message[]): readonly Message[] =>
  messages.slice(messages.findLastIndex(({ role }) => role !== 'assistant' && role !== 'tool') + 1)

/** The UI message of an answer so far, whose messages are the last of a record. */
const continuedMessage = (answer: readonly Message[], len: number): UIMessage | undefined =>
  uiMessagesOf(answer, len - answer.length).at(-1)

const reasons: { readonly [reason: string]: AiFinishReason } = {
  end_turn: 'stop',
  answered: 'stop',
  refusal: 'content-filter',
  max_tokens: 'length',
  max_steps: 'tool-calls',
  max_tool_calls: 'tool-calls',
  approval: 'tool-calls',
}
