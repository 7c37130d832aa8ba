/**
 * Anthropic Messages as a `Model`, on the provider's own client with its retries, headers and timeouts.
 *
 * Source  Anthropic API reference, Messages streaming and prompt caching (2026-11)
 */
import type { Anthropic } from '@anthropic-ai/sdk'
import type { MessageCreateParamsStreaming, RawMessageStreamEvent } from '@anthropic-ai/sdk/resources/messages'
import { isObject, jsonIn, present } from '../../json/index.ts'
import { type Message, type Part } from '../../message/index.ts'
import { anthropicUsage, blockWire, JoinedMessage, type JoinedBlock } from '../../codecs/internal.ts'
import { anthropic, decodeResponse } from '../../codecs/anthropic/index.ts'
import {
  checkAnswerable,
  messagesOf,
  toolsBeside,
  wireOf,
  type AdapterOptions,
  adapterNames,
  adapterOptionsOf,
} from '../model/adapter.ts'
import type { BlockType, Model, ModelEvent } from '../model/model.ts'
import type { FinishReason } from '../model/response.ts'
import { Blocks } from '../model/blocks.ts'
import { withBreakpoints, withFewBreakpoints } from './breakpoints.ts'

/** How to call Anthropic's models. */
export interface AnthropicOptions extends AdapterOptions {
  /**
   * The maximum tokens of an answer; the API requires a number. Default: 8192. `max_tokens` in the
   * parameters overrides it.
   */
  readonly maxTokens?: number
  /**
   * Whether requests set cache breakpoints, in place of those that the record has. If false, a request has the last four
   * of the record. Default: true.
   */
  readonly cache?: boolean
}

/**
 * A Messages API model. The results of a step become one message, as the API requires.
 *
 * @param client the provider's own: `new Anthropic({ apiKey, baseURL })`
 * @param input the model and the maximum tokens of an answer
 */
export const anthropicModel = (client: Anthropic, input: AnthropicOptions): Model => {
  const options = adapterOptionsOf('anthropicModel', input, { ...adapterNames, maxTokens: true, cache: true })
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
      const wire = wireOf(request, (messages) => anthropic.encode(messages, { exact: false }), options)
      checkAnswerable(wire.messages)
      const offered = toolsBeside(request, tools)
      const isMarked = (part: unknown): boolean => isObject(part) && (part['cache_control'] ?? null) !== null
      const others = [request.parameters, ...(offered.tools ?? [])].filter(isMarked).length
      const body = {
        max_tokens: options.maxTokens ?? 8192,
        ...request.parameters,
        model: options.model,
        ...(options.cache === false
          ? withFewBreakpoints(wire, others)
          : withBreakpoints(wire, request.stablePrefix > 0, others)),
        ...offered,
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
  readonly #joined = new JoinedMessage()
  /** All blocks, also those of a replaced answer. */
  readonly #blocks = new Blocks<JoinedBlock>();

  *take(event: RawMessageStreamEvent): Generator<ModelEvent> {
    const block = this.#joined.take({ ...event })
    if (event.type === 'message_stop') return yield* this.#finish()
    if (block === undefined) return
    const type = typeOf(block.fields)
    const { index } = yield* this.#blocks.at(block, type, block.fields)
    if (event.type === 'content_block_delta') yield* deltaEvents(type, index, event.delta as unknown as Fresh)
    if (event.type !== 'content_block_stop') return
    const [part] = messageOf([block]).content
    if (part === undefined) throw new Error('the answer has a block without content')
    yield* this.#blocks.end(block, type, part)
  }

  *#finish(): Generator<ModelEvent> {
    const { body = {} } = this.#joined
    const { stop_reason: reason, model } = body
    if (typeof reason !== 'string') return
    const { output = 0, ...counts } = anthropicUsage(body)
    const { cacheRead = 0, cacheWrite = 0, input = cacheRead + cacheWrite } = counts // some gateways leave input_tokens out
    yield {
      type: 'finish',
      message: messageOf(this.#joined.blocks),
      reason: reasons[reason] ?? 'other',
      usage: { ...counts, input, output },
      ...(typeof model === 'string' && { model }),
    }
  }
}

/** Blocks as a message, one part each. A truncated call keeps its partial input, and the loop drops it. */
const messageOf = (blocks: readonly JoinedBlock[]): Message => {
  const [message] = messagesOf(
    decodeResponse({ role: 'assistant', content: blocks.map((block) => blockWire(block, true)) }),
  )
  if (message === undefined) throw new Error('the answer has no message')
  const content = message.content.map((part, place): Part => {
    const { input = '' } = blocks[place] ?? {}
    return part.type === 'tool_call' && input !== '' && jsonIn(input) === undefined
      ? { ...part, arguments: input }
      : part
  })
  return { ...message, content }
}

function* deltaEvents(block: BlockType, index: number, { type, ...fields }: Fresh): Generator<ModelEvent> {
  if (type === 'input_json_delta' && block === 'tool_call')
    yield { type: 'arguments_delta', index, block, text: String(fields['partial_json']) }
  const kind = deltas.get(type)
  if (kind === undefined) return
  for (const value of Object.values(fields)) if (typeof value === 'string') yield { ...kind, index, text: value }
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

const reasons: { readonly [reason: string]: FinishReason } = {
  end_turn: 'end_turn',
  stop_sequence: 'end_turn',
  pause_turn: 'pause',
  tool_use: 'tool_calls',
  max_tokens: 'max_tokens',
  model_context_window_exceeded: 'max_tokens',
  refusal: 'refusal',
}
