/**
 * Any AI SDK model as a `Model`, called with its `streamText`, one step at a time, including its retries.
 *
 * Source  the types of `ai` 7
 */
import { present, optionsOf, type Json, type JsonObject } from 'indelible/internal/json'
import { jsonSchema, streamText, type LanguageModel, type ModelMessage, type TextStreamPart, type ToolSet } from 'ai'
import { aiModelMessages } from '@indelible/codecs/ai-sdk'
import type { Message, Part } from 'indelible/message'
import {
  Blocks,
  joinMessages,
  messagesOf,
  partOf,
  wireOf,
  type AdapterOptions,
  type Model,
  type ModelEvent,
  type FinishReason,
} from 'indelible/internal/run'

/**
 * An AI SDK model. The request's parameters are settings of `streamText` (`temperature`,
 * `maxOutputTokens`, `providerOptions` …).
 *
 * @param model a model for `ai`: `openai('gpt-5')`, or an id for its gateway
 * @param settings the name in receipts and errors, and `onLosses`
 */
export const aiSdkModel = (model: LanguageModel, settings: Partial<AdapterOptions> = {}): Model => {
  const options = optionsOf('aiSdkModel', settings, { model: true, name: true, onLosses: true })
  const name = options.name ?? options.model ?? (typeof model === 'string' ? model : model.modelId)
  return Object.freeze<Model>({
    name,
    results: 'together',
    async *stream(request, signal) {
      // No `execute`: the loop runs the calls.
      const tools: ToolSet = Object.fromEntries(
        request.tools.map(({ name, description, parameters }) => [
          name,
          { inputSchema: jsonSchema({ ...parameters }), ...(description !== undefined && { description }) },
        ]),
      )
      const answered = streamText({
        ...(request.parameters as object),
        model,
        tools,
        messages: wireOf(request, aiModelMessages.encode, options) as ModelMessage[],
        allowSystemInMessages: true,
        abortSignal: signal,
        onError: () => undefined, // errors also arrive in the stream
      })
      const answer = new AiSdkAnswer()
      for await (const part of answered.stream) yield* answer.take(part)
      if (answer.whole) yield answer.finish(await answered.responseMessages)
    },
  })
}

type Step = Extract<TextStreamPart<ToolSet>, { type: 'finish-step' }>

class AiSdkAnswer {
  readonly #blocks = new Blocks<string>()
  /** The text of each block so far. */
  readonly #texts = new Map<string, string>()
  /** The indexes of texts that the final message lacks, as `ai` leaves out empty ones. */
  readonly #leftOut = new Set<number>()
  /** The sources, each with the number of parts of the final message before it: `ai` leaves them out of that. */
  readonly #sources: { readonly before: number; readonly part: Part }[] = []
  #step: Step | undefined

  /** For a stream that ends early, `ai` reports the reason `other`, which the provider never sent. */
  get whole(): boolean {
    const step = this.#step
    return (
      step !== undefined &&
      step.finishReason !== 'interrupted' &&
      (step.finishReason !== 'other' || step.rawFinishReason !== undefined)
    )
  }

  finish(content: readonly unknown[]): ModelEvent {
    const { finishReason, usage, response } = this.#step as Step
    // `ai` adds tool messages of its own; they are left out because the loop runs the tools.
    const own = content.filter((message) => (message as { readonly role?: unknown }).role === 'assistant')
    const { cacheReadTokens: cacheRead, cacheWriteTokens: cacheWrite } = usage.inputTokenDetails
    return {
      type: 'finish',
      message: this.#withSources(this.#withRawArguments(joinMessages(messagesOf(aiModelMessages.decode(own))))),
      reason: reasons[finishReason] ?? 'other',
      usage: {
        input: usage.inputTokens ?? 0,
        output: usage.outputTokens ?? 0,
        ...present({ cacheRead, cacheWrite }),
      },
      model: response.modelId,
    }
  }

  /** `ai` provides only the parsed input of a call; the original text comes from the deltas. */
  #withRawArguments(message: Message): Message {
    return { ...message, content: message.content.map((part) => this.#raw(part)) }
  }

  #withSources(message: Message): Message {
    if (this.#sources.length === 0) return message
    const content = [...message.content]
    for (const [count, { before, part }] of this.#sources.entries()) content.splice(before + count, 0, part)
    return { ...message, content }
  }

  #raw(part: Part): Part {
    const text = part.type === 'tool_call' ? this.#texts.get(`call ${part.id}`) : undefined
    return part.type !== 'tool_call' || text === undefined || text === '' ? part : { ...part, arguments: text }
  }

  *#start(key: string, type: TextBlock, call?: NamedCall): Generator<ModelEvent> {
    const { index } = yield* this.#blocks.start(key, type, call)
    this.#texts.set(key, '')
    if (type === 'text') this.#leftOut.add(index)
  }

  /** A piece of a block, which some servers don't start. */
  *#grow(key: string, type: TextBlock, text: string, call?: NamedCall): Generator<ModelEvent> {
    if (!this.#blocks.has(key)) yield* this.#start(key, type, call)
    const { index } = yield* this.#blocks.at(key, type)
    if (text !== '') this.#leftOut.delete(index)
    this.#texts.set(key, (this.#texts.get(key) ?? '') + text)
    yield* this.#blocks.grow(key, type, text)
  }

  *#end(key: string, type: 'text' | 'reasoning', providerOptions: unknown): Generator<ModelEvent> {
    if (!this.#blocks.has(key)) yield* this.#start(key, type)
    const text = this.#texts.get(key) ?? ''
    const { index } = yield* this.#blocks.at(key, type)
    if (providerOptions !== undefined) this.#leftOut.delete(index)
    yield* this.#blocks.end(key, type, this.#part({ type, text, ...present({ providerOptions }) }))
  }

  /** A block that arrives whole: a file, a source, the result of a tool that the provider ran. */
  *#whole(part: Part): Generator<ModelEvent> {
    yield* this.#blocks.end(`whole ${this.#blocks.count}`, 'provider', part)
  }

  /** A part of the assistant's message in the wire format of `ai`. */
  #part(content: object): Part {
    return partOf(aiModelMessages, [{ role: 'assistant', content: [content] }])
  }

  *take(part: TextStreamPart<ToolSet>): Generator<ModelEvent> {
    switch (part.type) {
      case 'text-start':
        return yield* this.#start(`text ${part.id}`, 'text')
      case 'text-delta':
        return yield* this.#grow(`text ${part.id}`, 'text', part.text)
      case 'text-end':
        return yield* this.#end(`text ${part.id}`, 'text', part.providerMetadata)
      case 'reasoning-start':
        return yield* this.#start(`reasoning ${part.id}`, 'reasoning')
      case 'reasoning-delta':
        return yield* this.#grow(`reasoning ${part.id}`, 'reasoning', part.text)
      case 'reasoning-end':
        return yield* this.#end(`reasoning ${part.id}`, 'reasoning', part.providerMetadata)
      case 'tool-input-start':
        return yield* this.#start(`call ${part.id}`, 'tool_call', { id: part.id, name: part.toolName })
      case 'tool-input-delta':
        return yield* this.#grow(`call ${part.id}`, 'tool_call', part.delta, { id: part.id })
      case 'tool-call':
        return yield* this.#call(part)
      case 'tool-result':
      case 'tool-error':
        return yield* this.#result(part)
      case 'file':
      case 'reasoning-file': {
        const { mediaType, base64: data } = part.file
        const providerOptions = part.providerMetadata
        return yield* this.#whole(this.#part({ type: part.type, data, mediaType, ...present({ providerOptions }) }))
      }
      case 'custom': {
        const { kind, providerMetadata: providerOptions } = part
        return yield* this.#whole(this.#part({ type: 'custom', kind, ...present({ providerOptions }) }))
      }
      case 'source':
        return yield* this.#source(part)
      case 'finish-step':
        this.#step = part
        return
      case 'error':
        throw part.error
      default:
        return
    }
  }

  /** A source: part of the answer that people read, which no provider expects back. */
  *#source(source: Extract<TextStreamPart<ToolSet>, { type: 'source' }>): Generator<ModelEvent> {
    const { sourceType, id: sourceId, title, providerMetadata } = source
    const raw =
      sourceType === 'url'
        ? { type: 'source-url', sourceId, url: source.url, ...present({ title, providerMetadata }) }
        : {
            type: 'source-document',
            sourceId,
            mediaType: source.mediaType,
            title,
            ...present({ filename: source.filename, providerMetadata }),
          }
    const part: Part = { type: 'provider', provider: 'ai-sdk-ui', raw: raw as JsonObject }
    this.#sources.push({ before: this.#blocks.count - this.#leftOut.size - this.#sources.length, part })
    yield* this.#whole(part)
  }

  /** The result of a tool that the provider ran. The loop runs all others, so they have none here. */
  *#result(result: Extract<TextStreamPart<ToolSet>, { type: 'tool-result' | 'tool-error' }>): Generator<ModelEvent> {
    if (result.providerExecuted !== true) return
    if (result.type === 'tool-result' && result.preliminary === true) return
    const { toolCallId, toolName, providerMetadata: providerOptions } = result
    const isText = result.type === 'tool-result' && typeof result.output === 'string'
    const value: unknown = result.type === 'tool-result' ? result.output : result.error
    const type = result.type === 'tool-error' ? 'error-json' : isText ? 'text' : 'json'
    const output = { type, value: JSON.parse(JSON.stringify(value ?? null)) as Json } // as `ai` does
    yield* this.#whole(
      this.#part({ type: 'tool-result', toolCallId, toolName, output, ...present({ providerOptions }) }),
    )
  }

  *#call({
    toolCallId,
    toolName,
    input,
    providerExecuted,
    providerMetadata,
  }: Extract<TextStreamPart<ToolSet>, { type: 'tool-call' }>): Generator<ModelEvent> {
    const call = {
      type: 'tool-call',
      toolCallId,
      toolName,
      input: input as unknown,
      ...present({ providerExecuted, providerOptions: providerMetadata }),
    }
    const named = { id: toolCallId, name: toolName }
    yield* this.#blocks.end(`call ${toolCallId}`, 'tool_call', this.#raw(this.#part(call)), named)
  }
}

type TextBlock = 'text' | 'reasoning' | 'tool_call'

interface NamedCall {
  readonly id: string
  readonly name?: string
}

const reasons: { readonly [reason: string]: FinishReason } = {
  stop: 'end_turn',
  length: 'max_tokens',
  'tool-calls': 'tool_calls',
  'content-filter': 'refusal',
}
