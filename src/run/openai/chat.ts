/**
 * OpenAI Chat Completions as a `Model`, on the provider's own client with its retries, headers and
 * timeouts. Also for compatible servers.
 *
 * Source  OpenAI API reference, Chat Completions streaming (2026-11)
 */
import { isObject, present } from '../../json/index.ts'
import type { OpenAI } from 'openai'
import type { ChatCompletionChunk, ChatCompletionCreateParamsStreaming } from 'openai/resources/chat/completions'
import { JoinedCompletion, openaiChatUsage, type ChatGrowth } from '../../codecs/internal.ts'
import { openaiChat } from '../../codecs/openai-chat/index.ts'
import { messagesOf, partOf, wireOf, type AdapterOptions, adapterNames, adapterOptionsOf } from '../adapter.ts'
import type { BlockType, Model, ModelEvent } from '../model.ts'
import { deltaOf } from '../model-event.ts'
import type { FinishReason } from '../response.ts'

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

/** A block of an answer, in order of appearance: its text, its refusal, its reasoning, or one of its calls. */
interface Block {
  readonly index: number
  readonly block: BlockType
  readonly message: ChatGrowth['message']
}

class ChatAnswer {
  readonly #joined = new JoinedCompletion()
  readonly #blocks = new Map<unknown, Block>()
  #open: Block | undefined;

  *take(chunk: ChatCompletionChunk): Generator<ModelEvent> {
    for (const growth of this.#joined.take({ ...chunk })) {
      const block = blockOf(growth)
      const { text } = growth
      if (block === undefined || (block !== 'tool_call' && text === '')) continue
      const index = yield* this.#beginBlock(growth, block)
      if (text !== '') yield deltaOf(block, index, text)
    }
  }

  *finish(): Generator<ModelEvent> {
    const { reason, body } = this.#joined
    // Without a finish reason the answer is incomplete, so there is no `finish` event.
    if (reason === undefined || body === undefined) return
    yield* this.#close()
    const { choices, model } = body as unknown as ChatBody
    const [message] = messagesOf(openaiChat.decode([choices[0].message]))
    if (message === undefined) return
    yield {
      type: 'finish',
      message,
      reason: reasons[reason] ?? 'other',
      usage: { input: 0, output: 0, ...openaiChatUsage(body) },
      ...(model !== undefined && { model }),
    }
  }

  *#beginBlock({ key, message }: ChatGrowth, block: BlockType): Generator<ModelEvent, number> {
    const found = this.#blocks.get(key)
    if (found !== undefined) return found.index
    yield* this.#close()
    const begun = { index: this.#blocks.size, block, message }
    this.#blocks.set(key, begun)
    this.#open = begun
    yield { type: 'block_start', index: begun.index, block, ...(block === 'tool_call' && namesOf(message())) }
    return begun.index
  }

  /** Ends the open block. A block is complete when another one starts. */
  *#close(): Generator<ModelEvent> {
    const open = this.#open
    this.#open = undefined
    if (open === undefined) return
    const { index, block, message } = open
    yield { type: 'block_end', index, block, part: partOf(openaiChat, [message()]) }
  }
}

interface ChatBody {
  readonly choices: readonly [{ readonly message: unknown }]
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
const namesOf = ({
  tool_calls: calls,
}: {
  readonly [field: string]: unknown
}): {
  readonly callId?: string
  readonly name?: string
} => {
  const [call] = calls as readonly [ChatToolCall]
  const { name } = call.function ?? call.custom ?? {}
  return { ...(typeof call.id === 'string' && { callId: call.id }), ...(typeof name === 'string' && { name }) }
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
