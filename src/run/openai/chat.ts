/**
 * OpenAI Chat Completions as a `Model`, on the provider's own client with its retries, headers and
 * timeouts. Also for compatible servers.
 *
 * Source  OpenAI API reference, Chat Completions streaming (2026-11)
 */
import { isObject, present } from '../../json/index.ts'
import type { OpenAI } from 'openai'
import type { ChatCompletionChunk, ChatCompletionCreateParamsStreaming } from 'openai/resources/chat/completions'
import { JoinedCompletion, type ChatGrowth } from '../../codecs/internal.ts'
import { openaiChat } from '../../codecs/openai-chat/index.ts'
import { messagesOf, partOf, wireOf, type AdapterOptions, adapterNames, adapterOptionsOf } from '../model/adapter.ts'
import type { BlockType, Model, ModelEvent } from '../model/model.ts'
import type { FinishReason } from '../model/response.ts'
import { Blocks } from '../model/blocks.ts'

/**
 * A Chat Completions model.
 *
 * @param client the provider's own: `new OpenAI({ apiKey, baseURL })`
 * @param input the model, its name in receipts, and `onLosses`
 */
export const openaiChatModel = (client: OpenAI, input: AdapterOptions): Model => {
  const options = adapterOptionsOf('openaiChatModel', input, adapterNames)
  return Object.freeze<Model>({
    name: options.name ?? options.model,
    async *stream(request, signal) {
      const tools = request.tools.map(({ name, description, parameters }) => ({
        type: 'function' as const,
        function: { name, parameters, ...present({ description }) },
      }))
      const body = {
        ...request.parameters,
        model: options.model,
        messages: wireOf(request, openaiChat.encode, options),
        ...(tools.length > 0 && { tools }),
        stream: true,
        stream_options: { include_usage: true },
      } as ChatCompletionCreateParamsStreaming // the provider checks the caller's `parameters`
      const answer = new ChatAnswer()
      for await (const chunk of await client.chat.completions.create(body, { signal })) yield* answer.take(chunk)
      yield* answer.finish()
    },
  })
}

/** The block that grows. Its message has only the part of this block. */
interface OpenBlock {
  readonly key: unknown
  readonly type: BlockType
  readonly message: ChatGrowth['message']
}

/** The growing answer: its text, its refusal, its reasoning and each of its calls are a block. */
class ChatAnswer {
  readonly #joined = new JoinedCompletion()
  readonly #blocks = new Blocks<unknown>()
  #open: OpenBlock | undefined;

  *take(chunk: ChatCompletionChunk): Generator<ModelEvent> {
    for (const growth of this.#joined.take({ ...chunk })) {
      const type = blockOf(growth)
      const { key, text, message } = growth
      if (type === undefined || (type !== 'tool_call' && text === '')) continue
      if (!this.#blocks.has(key)) {
        yield* this.#close()
        this.#open = { key, type, message }
        yield* this.#blocks.start(key, type, type === 'tool_call' ? callOf(message()) : {})
      }
      if (text !== '') yield* this.#blocks.grow(key, type, text)
    }
  }

  *finish(): Generator<ModelEvent> {
    const { reason, body } = this.#joined
    // Without a finish reason the answer is incomplete, so there is no `finish` event.
    if (reason === undefined || body === undefined) return
    yield* this.#close()
    const { choices, usage, model } = body as unknown as ChatBody
    const [message] = messagesOf(openaiChat.decode([choices[0].message]))
    if (message === undefined) return
    const { prompt_tokens: input = 0, completion_tokens: output = 0, prompt_tokens_details: details } = usage ?? {}
    yield {
      type: 'finish',
      message,
      reason: reasons[reason] ?? 'other',
      usage: { input, output, ...(typeof details?.cached_tokens === 'number' && { cacheRead: details.cached_tokens }) },
      ...(model !== undefined && { model }),
    }
  }

  /** Ends the open block. A block is complete when another one starts. */
  *#close(): Generator<ModelEvent> {
    const open = this.#open
    this.#open = undefined
    if (open !== undefined) yield* this.#blocks.end(open.key, open.type, partOf(openaiChat, [open.message()]))
  }
}

interface ChatBody {
  readonly choices: readonly [{ readonly message: unknown }]
  readonly usage?: ChatCompletionChunk['usage']
  readonly model?: string
}

/** The block that a piece belongs to; undefined for fields that no event shows. */
const blockOf = ({ field, key }: ChatGrowth): Exclude<BlockType, 'provider'> | undefined => {
  if (field === 'tool_calls') return 'tool_call'
  if (field === 'refusal') return 'refusal'
  if (field === 'reasoning_content' || field === 'reasoning') return 'reasoning'
  return field === 'content' && (typeof key === 'string' || isText(key)) ? 'text' : undefined
}

const isText = (part: unknown): boolean => isObject(part) && part['type'] === 'text'

/** The id and the name of a call, as far as they are known at its start. */
const callOf = ({ tool_calls: calls }: { readonly [field: string]: unknown }): { id?: unknown; name?: unknown } => {
  const [call] = calls as readonly [ChatToolCall]
  return { id: call.id, name: (call.function ?? call.custom)?.name }
}

interface ChatToolCall {
  readonly id?: unknown
  readonly function?: { readonly name?: unknown }
  readonly custom?: { readonly name?: unknown }
}

const reasons: { readonly [reason: string]: FinishReason } = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  content_filter: 'refusal',
}
