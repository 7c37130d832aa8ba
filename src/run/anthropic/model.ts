/**
 * Anthropic Messages as a `Model`, on the provider's own client with its retries, headers and timeouts.
 *
 * Source  Anthropic API reference, Messages streaming and prompt caching (2026-11)
 */
import type { Anthropic } from '@anthropic-ai/sdk'
import type { MessageCreateParamsStreaming, RawMessageStreamEvent } from '@anthropic-ai/sdk/resources/messages'
import { jsonIn, present } from '../../json/index.ts'
import { type Message, type Part } from '../../message/index.ts'
import { anthropic, decodeResponse } from '../../codecs/anthropic/index.ts'
import type { Usage } from '../../notes/kit.ts'
import {
  checkAnswerable,
  messagesOf,
  toolsBeside,
  wireOf,
  type AdapterOptions,
  adapterNames,
  adapterOptionsOf,
} from '../adapter.ts'
import type { BlockType, Model, ModelEvent } from '../model.ts'
import type { FinishReason } from '../response.ts'
import { withBreakpoints } from './breakpoints.ts'

/** How to call Anthropic's models. */
export interface AnthropicOptions extends AdapterOptions {
  /**
   * The maximum tokens of an answer; the API requires a number. Default: 8192. `max_tokens` in the
   * parameters overrides it.
   */
  readonly maxTokens?: number
  /** Whether requests set cache breakpoints if the record has none. Default: true. */
  readonly cache?: boolean
}

/**
 * A Messages API model. The results of a step become one message, as the API requires.
 *
 * @param client the provider's own: `new Anthropic({ apiKey, baseURL })`
 * @param given the model and the maximum tokens of an answer
 */
export const anthropicModel = (client: Anthropic, given: AnthropicOptions): Model => {
  const options = adapterOptionsOf('anthropicModel', given, { ...adapterNames, maxTokens: true, cache: true })
  return Object.freeze<Model>({
    name: options.name ?? options.model,
    results: 'together',
    async *stream(request, signal) {
      const tools = request.tools.map(({ name, description, parameters }) => ({
        name,
        input_schema: { type: 'object', ...parameters },
        ...present({ description }),
      }))
      // Content that this format can return but that the API rejects in a request is converted to an accepted form.
      const wire = wireOf(anthropic.encode(request.messages, { exact: false }), options)
      checkAnswerable(wire.messages)
      const body = {
        max_tokens: options.maxTokens ?? 8192,
        ...request.parameters,
        model: options.model,
        ...(options.cache === false ? wire : withBreakpoints(wire, request.stablePrefix > 0)),
        ...toolsBeside(request, tools),
        stream: true,
      } as unknown as MessageCreateParamsStreaming // the provider checks the caller's `parameters`
      const answer = new AnthropicAnswer()
      for await (const event of await client.messages.create(body, { signal })) yield* answer.take(event)
    },
  })
}

type Fresh = { [field: string]: unknown }

/** The growing answer. A second `message_start` starts over: some proxies splice a retry into the stream. */
class AnthropicAnswer {
  #model: string | undefined
  #reason: string | undefined
  #usage: Fresh = {}
  #blocks: Fresh[] = []
  #inputs: string[] = []
  /** Blocks of a replaced answer keep their numbers. */
  #offset = 0;

  *take(event: RawMessageStreamEvent): Generator<ModelEvent> {
    switch (event.type) {
      case 'message_start':
        this.#offset += this.#blocks.length
        this.#blocks = []
        this.#inputs = []
        this.#model = event.message.model
        this.#usage = { ...event.message.usage }
        return
      case 'content_block_start':
        return yield* this.#start(event.index, event.content_block as unknown as Fresh)
      case 'content_block_delta':
        return yield* this.#delta(event.index, event.delta as unknown as Fresh)
      case 'content_block_stop': {
        const [part] = this.#message([event.index]).content
        if (part === undefined) throw new Error('the answer has a block without content')
        return yield {
          type: 'block_end',
          index: this.#offset + event.index,
          block: typeOf(this.#blocks[event.index] ?? {}),
          part,
        }
      }
      case 'message_delta':
        this.#reason = event.delta.stop_reason ?? this.#reason
        for (const [field, value] of Object.entries(event.usage))
          if (value !== null && value !== undefined) this.#usage[field] = value
        return
      case 'message_stop':
        return yield* this.#finish()
    }
  }

  *#start(index: number, block: Fresh): Generator<ModelEvent> {
    this.#blocks[index] = { ...block }
    this.#inputs[index] = ''
    const type = typeOf(block)
    yield {
      type: 'block_start',
      index: this.#offset + index,
      block: type,
      ...(type === 'tool_call' && { callId: String(block['id']), name: String(block['name']) }),
    }
  }

  *#delta(at: number, { type, ...fields }: Fresh): Generator<ModelEvent> {
    const block = this.#blocks[at]
    if (block === undefined) throw new Error(`the stream refers to block ${at}, which was never started`)
    const index = this.#offset + at
    if (type === 'input_json_delta') {
      const text = String(fields['partial_json'])
      this.#inputs[at] += text
      if (typeOf(block) === 'tool_call') yield { type: 'arguments_delta', index, block: 'tool_call', text }
    } else if (type === 'citations_delta') {
      const before = (block['citations'] as readonly unknown[] | null | undefined) ?? []
      block['citations'] = [...before, fields['citation']]
    } else {
      // A delta's fields are those of its block, which also covers new kinds of deltas.
      const told = deltas.get(type)
      for (const [field, value] of Object.entries(fields)) {
        const before = block[field]
        block[field] = typeof before === 'string' && typeof value === 'string' ? before + value : value
        if (told !== undefined && typeof value === 'string') yield { ...told, index, text: value }
      }
    }
  }

  *#finish(): Generator<ModelEvent> {
    if (this.#reason === undefined) return
    yield {
      type: 'finish',
      message: this.#message([...this.#blocks.keys()]),
      reason: reasons[this.#reason] ?? 'other',
      usage: usageOf(this.#usage),
      ...(this.#model !== undefined && { model: this.#model }),
    }
  }

  /** Blocks as a message, one part each. A truncated call keeps its partial input, and the loop drops it. */
  #message(indexes: readonly number[]): Message {
    const cut = new Map<number, string>()
    const content = indexes.map((index, place): Fresh => {
      const block = this.#blocks[index] ?? {}
      const input = this.#inputs[index] ?? ''
      if (input === '') return block
      const value = jsonIn(input)
      if (value !== undefined) return { ...block, input: value }
      cut.set(place, input)
      return block
    })
    const [message] = messagesOf(decodeResponse({ role: 'assistant', content }))
    if (message === undefined) throw new Error('the answer has no message')
    if (cut.size === 0) return message
    const parts: Part[] = [...message.content]
    for (const [place, input] of cut) {
      const part = parts[place]
      if (part?.type === 'tool_call') parts[place] = { ...part, arguments: input }
    }
    return { ...message, content: parts }
  }
}

/** The deltas that are emitted as events. */
const deltas: ReadonlyMap<
  unknown,
  | { readonly type: 'text_delta'; readonly block: 'text' }
  | { readonly type: 'reasoning_delta' | 'signature_delta'; readonly block: 'reasoning' }
> = new Map([
  ['text_delta', { type: 'text_delta', block: 'text' }],
  ['thinking_delta', { type: 'reasoning_delta', block: 'reasoning' }],
  ['signature_delta', { type: 'signature_delta', block: 'reasoning' }],
] as const)

const typeOf = ({ type }: Fresh): BlockType => {
  if (type === 'text') return 'text'
  if (type === 'thinking' || type === 'redacted_thinking') return 'reasoning'
  return type === 'tool_use' ? 'tool_call' : 'provider'
}

/** Anthropic reports cache reads and writes separately from the input; here they are part of it. */
const usageOf = (usage: Fresh): Usage => {
  const count = (field: string): number => (typeof usage[field] === 'number' ? usage[field] : 0)
  const [cacheRead, cacheWrite] = [count('cache_read_input_tokens'), count('cache_creation_input_tokens')]
  return {
    input: count('input_tokens') + cacheRead + cacheWrite,
    output: count('output_tokens'),
    cacheRead,
    cacheWrite,
  }
}

const reasons: { readonly [reason: string]: FinishReason } = {
  end_turn: 'end_turn',
  stop_sequence: 'end_turn',
  pause_turn: 'pause',
  tool_use: 'tool_calls',
  max_tokens: 'max_tokens',
  model_context_window_exceeded: 'max_tokens',
  refusal: 'refusal',
}
