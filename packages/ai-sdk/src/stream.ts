/** Converts a run to a stream of UI message chunks for `useChat`. */
import type { FinishReason as AiFinishReason, ProviderMetadata, UIMessageChunk } from 'ai'
import { aiUiMessages } from 'indelible/codecs/ai-sdk'
import { isLeft, jsonOrText, optionsOf, present } from 'indelible/json/kit'
import type { Part, ReasoningPart, ToolCallPart, ToolResultPart } from 'indelible/message'
import type { ModelEvent, RunEvent, RunFailure, RunStream } from 'indelible/run'

/** The options of a UI message stream. */
export interface UIStreamOptions {
  /** The id of the streamed message. Default: `msg-` and the length of the run's view, as in `loadChat`. */
  readonly messageId?: string
  /** The error text for the reader. Default: "The answer failed." */
  readonly onError?: (error: unknown) => string
}

/**
 * The events of a run as UI message chunks, for `createUIMessageStreamResponse` and `useChat`. Steps stay steps, and
 * the resulting client message equals the one that `loadChat` returns once a `sessionHandler` has stored the run.
 *
 * Reading the stream reads the run, and cancelling it cancels the run. To keep a run going without
 * its reader, pass the stream to `chatStreams(store).publish`.
 *
 * Source  `ai` 7.0.173, `UIMessageChunk`
 *
 * @param options the id of the message, and the text for errors
 * @example
 * const answer = turn(session, message, { model, tools, whenBusy: 'wait' })
 * return createUIMessageStreamResponse({ stream: toUIMessageStream(answer) })
 */
export const toUIMessageStream = <F = RunFailure>(
  stream: RunStream<F>,
  options: UIStreamOptions = {},
): ReadableStream<UIMessageChunk> => {
  const { messageId, onError = () => 'The answer failed.' } = optionsOf('toUIMessageStream', options, {
    messageId: true,
    onError: true,
  })
  const events = stream[Symbol.asyncIterator]()
  const writer = new Chunks(messageId, onError)
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
    cancel: () => void events.return?.(),
  })
}

class Chunks {
  readonly #id: string | undefined
  readonly #onError: (error: unknown) => string
  #begun = false
  #ended = false
  #inStep = false
  /** Open blocks of text and reasoning, by index. */
  readonly #open = new Map<number, { readonly id: string; readonly block: 'text' | 'reasoning' }>()
  /** Calls whose input, and results whose output, was sent. */
  readonly #told = new Set<string>()
  readonly #calls = new Map<number, string>()
  /** The index of the step in the message, and the number of parts in the step. */
  #step = -1
  #parts = 0

  constructor(id: string | undefined, onError: (error: unknown) => string) {
    this.#id = id
    this.#onError = onError
  }

  *of(event: RunEvent): Generator<UIMessageChunk> {
    switch (event.type) {
      case 'step_start':
        if (!this.#begun) yield { type: 'start', messageId: this.#id ?? `msg-${event.len}` }
        this.#begun = true
        this.#parts = 0
        if (this.#inStep) return // its first answer was discarded
        this.#step += 1
        this.#inStep = true
        yield { type: 'start-step' }
        return
      case 'model_event':
        return yield* this.#model(event.event)
      case 'tool_call_start':
        return yield* this.#input(event.call)
      case 'tool_result':
        return yield* this.#output(event.result)
      case 'step_complete':
        for (const part of event.response.message.content) if (part.type === 'tool_call') yield* this.#input(part)
        for (const result of event.results) yield* this.#output(result)
        return yield* this.#endStep()
      case 'interrupted':
        // An answer is only discarded while it streams: with tools running it is complete.
        if (event.behavior !== 'discard' || !this.#inStep) return yield* this.#endStep()
        for (const sent of [this.#open, this.#calls, this.#told]) sent.clear()
        yield { type: 'reset-step' }
        return
      case 'history_delta':
        return
      case 'run_complete': {
        const { stopReason } = event.result
        yield* this.#endStep()
        this.#ended = true
        if (stopReason === 'error') yield { type: 'error', errorText: this.#onError(event.result) }
        else if (stopReason === 'cancelled') yield { type: 'abort' }
        else yield { type: 'finish', finishReason: reasons[stopReason] ?? 'other' }
      }
    }
  }

  /** The end of a stream: an error chunk unless the run ended on its own. */
  *end(fault: unknown): Generator<UIMessageChunk> {
    if (this.#ended) return
    yield* this.#endStep()
    yield { type: 'error', errorText: this.#onError(fault) }
  }

  *#endStep(): Generator<UIMessageChunk> {
    for (const index of [...this.#open.keys()]) yield* this.#close(index)
    this.#calls.clear()
    if (!this.#inStep) return
    this.#inStep = false
    yield { type: 'finish-step' }
  }

  *#close(index: number, part?: Part): Generator<UIMessageChunk> {
    const open = this.#open.get(index)
    this.#open.delete(index)
    if (open === undefined) return
    const providerMetadata = part?.type === 'reasoning' ? reasoningMetadata(part) : undefined
    yield { type: `${open.block}-end`, id: open.id, ...present({ providerMetadata }) }
  }

  *#model(event: ModelEvent): Generator<UIMessageChunk> {
    switch (event.type) {
      case 'block_start': {
        const { index, block, callId, name } = event
        this.#parts += 1
        if (block === 'tool_call' && callId !== undefined && name !== undefined) {
          this.#calls.set(index, callId)
          yield { type: 'tool-input-start', toolCallId: callId, toolName: name }
        } else if (block === 'text' || block === 'refusal' || block === 'reasoning') {
          const kind = block === 'reasoning' ? 'reasoning' : 'text'
          const id = reasoningId(this.#step, this.#parts - 1)
          this.#open.set(index, { id, block: kind })
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
        const toolCallId = this.#calls.get(event.index)
        if (toolCallId !== undefined) yield { type: 'tool-input-delta', toolCallId, inputTextDelta: event.text }
        return
      }
      case 'block_end':
        yield* this.#close(event.index, event.part)
        if (event.part.type === 'tool_call') yield* this.#input(event.part)
        return
      default: // signatures; the end of the answer, which `step_complete` handles
    }
  }

  /** The complete input of a call, sent once. */
  *#input({ id, name, arguments: args }: ToolCallPart): Generator<UIMessageChunk> {
    if (this.#told.has(id)) return
    this.#told.add(id)
    yield { type: 'tool-input-available', toolCallId: id, toolName: name, input: parseInput(args) }
  }

  *#output({ callId, content, isError }: ToolResultPart): Generator<UIMessageChunk> {
    const key = `result ${callId}`
    if (this.#told.has(key)) return
    this.#told.add(key)
    const text = content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
    yield isError === true
      ? { type: 'tool-output-error', toolCallId: callId, errorText: text }
      : { type: 'tool-output-available', toolCallId: callId, output: text }
  }
}

/** The id of a reasoning part from a run: its step in the message, and its part in the step. `loadChat` uses it too. */
export const reasoningId = (step: number, part: number): string => `${step}-${part}`

/** The provider metadata of reasoning, in the form of a stored chat. */
const reasoningMetadata = (part: ReasoningPart): ProviderMetadata | undefined => {
  const written = aiUiMessages.encode([{ role: 'assistant', content: [part] }], { allow: 'unsettled' })
  const parts = isLeft(written) ? [] : (written.right.wire[0]?.parts ?? [])
  const found = parts.find(({ type }) => type === 'reasoning') as { readonly providerMetadata?: ProviderMetadata }
  return found?.providerMetadata
}

const reasons: { readonly [reason: string]: AiFinishReason } = {
  end_turn: 'stop',
  refusal: 'content-filter',
  max_tokens: 'length',
  max_steps: 'tool-calls',
  max_tool_calls: 'tool-calls',
}

const parseInput = (text: string): unknown => (text.trim() === '' ? {} : jsonOrText(text))
