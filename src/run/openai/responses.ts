/**
 * The OpenAI Responses API as a `Model`, on the provider's own client. Every request carries the whole conversation:
 * nothing is stored at the provider (`store: false`), and reasoning is returned encrypted for the next request.
 *
 * Source  OpenAI API reference, Responses streaming (2026-11)
 */
import { present } from '../../json/index.ts'
import type { OpenAI } from 'openai'
import type { Response, ResponseCreateParamsStreaming, ResponseStreamEvent } from 'openai/resources/responses/responses'
import { isToolCall, text } from '../../message/index.ts'
import { JoinedEvents } from '../../codecs/internal.ts'
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
} from '../model/adapter.ts'
import type { BlockType, Model, ModelEvent } from '../model/model.ts'
import type { FinishReason } from '../model/response.ts'
import { Blocks } from '../model/blocks.ts'

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

/** The growing answer. Each part of a message, and every other item, is a block. */
class ResponsesAnswer {
  readonly #blocks = new Blocks<string>()
  readonly #joined = new JoinedEvents();

  *take(event: ResponseStreamEvent): Generator<ModelEvent> {
    this.#joined.take({ ...event })
    switch (event.type) {
      case 'response.output_item.added':
        if (event.item.type !== 'message')
          yield* this.#blocks.start(`${event.output_index}`, typeOf(event.item), callOf(event.item))
        return
      case 'response.content_part.added':
        if (event.part.type !== 'reasoning_text')
          yield* this.#blocks.start(`${event.output_index}/${event.content_index}`, typeOf(event.part))
        return
      case 'response.output_text.delta':
      case 'response.refusal.delta': {
        const type = event.type === 'response.refusal.delta' ? 'refusal' : 'text'
        return yield* this.#blocks.grow(`${event.output_index}/${event.content_index}`, type, event.delta)
      }
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return yield* this.#blocks.grow(`${event.output_index}`, 'reasoning', event.delta)
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        return yield* this.#blocks.grow(`${event.output_index}`, 'tool_call', event.delta)
      case 'response.content_part.done': {
        const { part } = event
        if (part.type === 'reasoning_text') return
        const done = part.type === 'refusal' ? ({ type: 'refusal', text: part.refusal } as const) : text(part.text)
        return yield* this.#blocks.end(`${event.output_index}/${event.content_index}`, typeOf(part), done)
      }
      case 'response.output_item.done': {
        const { item } = event
        if (item.type === 'message') return
        const part = partOf(openaiResponses, [item])
        return yield* this.#blocks.end(`${event.output_index}`, typeOf(item), part, callOf(item))
      }
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
    const { input_tokens: input = 0, output_tokens: used = 0, input_tokens_details: details } = response.usage ?? {}
    yield {
      type: 'finish',
      message,
      reason: reasonOf(response, message.content.some(isToolCall)),
      usage: {
        input,
        output: used,
        ...(typeof details?.cached_tokens === 'number' && { cacheRead: details.cached_tokens }),
      },
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

const typeOf = ({ type }: { readonly type: string }): BlockType => blocks[type] ?? 'provider'

const blocks: { readonly [type: string]: BlockType } = {
  output_text: 'text',
  refusal: 'refusal',
  reasoning: 'reasoning',
  function_call: 'tool_call',
  custom_tool_call: 'tool_call',
}

/** The id and the name of an item, if it is a call. */
const callOf = (item: object): { readonly id?: unknown; readonly name?: unknown } => {
  const { call_id: id, name } = item as { readonly call_id?: unknown; readonly name?: unknown }
  return { id, name }
}

const reasonOf = ({ status, incomplete_details: cut }: Response, calls: boolean): FinishReason => {
  if (cut?.reason === 'max_output_tokens') return 'max_tokens'
  if (cut?.reason === 'content_filter') return 'refusal'
  if (calls) return 'tool_calls'
  return status === 'completed' ? 'end_turn' : 'other'
}
