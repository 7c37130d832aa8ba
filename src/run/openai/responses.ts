/**
 * The OpenAI Responses API as a `Model`, on the provider's own client. Every request carries the whole conversation:
 * nothing is stored at the provider (`store: false`), and reasoning is returned encrypted for the next request.
 *
 * Source  OpenAI API reference, Responses streaming (2026-11)
 */
import { present } from '../../json/index.ts'
import type { OpenAI } from 'openai'
import type { Response, ResponseCreateParamsStreaming, ResponseStreamEvent } from 'openai/resources/responses/responses'
import { isToolCall, text, type Part } from '../../message/index.ts'
import { JoinedEvents, openaiResponsesUsage } from '../../codecs/internal.ts'
import { openaiResponses } from '../../codecs/openai-responses/index.ts'
import {
  joinMessages,
  messagesOf,
  partOf,
  toolsBeside,
  wireOf,
  type AdapterOptions,
  adapterNames,
  adapterOptionsOf,
} from '../adapter.ts'
import type { BlockType, Model, ModelEvent } from '../model.ts'
import { deltaOf } from '../model-event.ts'
import type { FinishReason } from '../response.ts'

/**
 * A Responses API model.
 *
 * @param client the provider's own: `new OpenAI({ apiKey, baseURL })`
 * @param input the model, its name in receipts, and `onLosses`
 */
export const openaiResponsesModel = (client: OpenAI, input: AdapterOptions): Model => {
  const options = adapterOptionsOf('openaiResponsesModel', input, adapterNames)
  return Object.freeze<Model>({
    name: options.name ?? options.model,
    async *stream(request, signal) {
      const tools = request.tools.map(({ name, description, parameters }) => ({
        type: 'function',
        name,
        parameters,
        strict: false,
        ...present({ description }),
      }))
      const body = {
        store: false,
        include: ['reasoning.encrypted_content'],
        ...request.parameters,
        model: options.model,
        input: wireOf(request, openaiResponses.encode, options),
        ...toolsBeside(request, tools),
        stream: true,
      } as unknown as ResponseCreateParamsStreaming // the provider checks the caller's `parameters`
      const answer = new ResponsesAnswer()
      for await (const event of await client.responses.create(body, { signal })) yield* answer.take(event)
    },
  })
}

interface Block {
  readonly index: number
  readonly block: BlockType
}

/** The growing answer. Each part of a message, and every other item, is a block, in order of appearance. */
class ResponsesAnswer {
  readonly #blocks = new Map<string, Block>()
  readonly #joined = new JoinedEvents()

  #beginBlock(
    key: string,
    { type, ...item }: { readonly type: string; readonly call_id?: unknown; readonly name?: unknown },
  ): ModelEvent {
    const block = blocks[type] ?? 'provider'
    const index = this.#blocks.size
    this.#blocks.set(key, { index, block })
    return {
      type: 'block_start',
      index,
      block,
      ...(block === 'tool_call' && typeof item.call_id === 'string' && { callId: item.call_id }),
      ...(block === 'tool_call' && typeof item.name === 'string' && { name: item.name }),
    }
  }

  /** A block. Begins one that the server did not begin. */
  *#at(key: string, item: { readonly type: string }): Generator<ModelEvent, Block> {
    const known = this.#blocks.get(key)
    if (known !== undefined) return known
    yield this.#beginBlock(key, item)
    return this.#blocks.get(key) as Block
  }

  *take(event: ResponseStreamEvent): Generator<ModelEvent> {
    this.#joined.take({ ...event })
    switch (event.type) {
      case 'response.output_item.added':
        if (event.item.type !== 'message') yield this.#beginBlock(`${event.output_index}`, event.item)
        return
      case 'response.content_part.added':
        if (event.part.type !== 'reasoning_text')
          yield this.#beginBlock(`${event.output_index}/${event.content_index}`, event.part)
        return
      case 'response.output_text.delta':
      case 'response.refusal.delta': {
        const type = event.type === 'response.refusal.delta' ? 'refusal' : 'output_text'
        const { index, block } = yield* this.#at(`${event.output_index}/${event.content_index}`, { type })
        return yield deltaOf(block === 'refusal' ? block : 'text', index, event.delta)
      }
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return yield deltaOf(
          'reasoning',
          (yield* this.#at(`${event.output_index}`, { type: 'reasoning' })).index,
          event.delta,
        )
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        return yield deltaOf(
          'tool_call',
          (yield* this.#at(`${event.output_index}`, { type: 'function_call' })).index,
          event.delta,
        )
      case 'response.content_part.done': {
        if (event.part.type === 'reasoning_text') return
        const part: Part =
          event.part.type === 'refusal' ? { type: 'refusal', text: event.part.refusal } : text(event.part.text)
        const block = yield* this.#at(`${event.output_index}/${event.content_index}`, event.part)
        return yield { type: 'block_end', ...block, part: part }
      }
      case 'response.output_item.done':
        if (event.item.type !== 'message') {
          const block = yield* this.#at(`${event.output_index}`, event.item)
          yield { type: 'block_end', ...block, part: partOf(openaiResponses, [event.item]) }
        }
        return
      case 'response.completed':
      case 'response.incomplete':
        return yield* this.#finish(event.response)
      case 'response.failed':
        throw new Error(event.response.error?.message ?? 'the response failed')
      case 'error':
        throw new Error(failureOf(event))
      default:
        return // other events (tool progress, annotations) are repeated in the completed items
    }
  }

  *#finish(response: Response): Generator<ModelEvent> {
    // Some servers leave the final list empty, so use the items that came one by one.
    const message = joinMessages(messagesOf(openaiResponses.decode(this.#joined.body?.['output'])))
    yield {
      type: 'finish',
      message,
      reason: reasonOf(response, message.content.some(isToolCall)),
      usage: { input: 0, output: 0, ...openaiResponsesUsage({ ...response }) },
      model: response.model,
    }
  }
}

/** The message of an error event, directly or in an `error` object; both occur. */
const failureOf = (event: object): string => {
  const { message, error } = event as { readonly message?: unknown; readonly error?: { readonly message?: unknown } }
  const text = message ?? error?.message
  return typeof text === 'string' ? text : 'the stream reported an error'
}

const blocks: { readonly [type: string]: BlockType } = {
  output_text: 'text',
  refusal: 'refusal',
  reasoning: 'reasoning',
  function_call: 'tool_call',
  custom_tool_call: 'tool_call',
}

const reasonOf = ({ status, incomplete_details: cut }: Response, calls: boolean): FinishReason => {
  if (cut?.reason === 'max_output_tokens') return 'max_tokens'
  if (cut?.reason === 'content_filter') return 'refusal'
  if (calls) return 'tool_calls'
  return status === 'completed' ? 'end_turn' : 'other'
}
