/**
 * OpenAI Chat Completions as a `Model`, on the provider's own client with its retries, headers and
 * timeouts. Also for compatible servers.
 *
 * Source  OpenAI API reference, Chat Completions streaming (2026-11)
 */
import { present } from '../../json/index.ts'
import type { OpenAI } from 'openai'
import type { ChatCompletionChunk, ChatCompletionCreateParamsStreaming } from 'openai/resources/chat/completions'
import { openaiChat } from '../../codecs/openai-chat/index.ts'
import { messagesOf, partOf, wireOf, type AdapterOptions, adapterNames, adapterOptionsOf } from '../adapter.ts'
import type { BlockType, Model, ModelEvent } from '../model.ts'
import { deltaOf } from '../model-event.ts'
import type { FinishReason } from '../response.ts'

/**
 * A Chat Completions model.
 *
 * @param client the provider's own: `new OpenAI({ apiKey, baseURL })`
 * @param given the model, its name in receipts, and `onLosses`
 */
export const openaiChatModel = (client: OpenAI, given: AdapterOptions): Model => {
  const options = adapterOptionsOf('openaiChatModel', given, adapterNames)
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
        messages: wireOf(openaiChat.encode(request.messages), options),
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

type Fresh = { [field: string]: unknown }

/** A block of an answer, in order of appearance: its text, its refusal, its reasoning, or one of its calls. */
interface Block {
  readonly index: number
  readonly block: BlockType
  readonly wire: () => Fresh
}

class ChatAnswer {
  readonly #message: Fresh = { role: 'assistant', content: null }
  readonly #blocks = new Map<string, Block>()
  #open: string | undefined
  #reason: string | undefined
  #usage: ChatCompletionChunk['usage']
  #model: string | undefined;

  *take({ choices, usage, model }: ChatCompletionChunk): Generator<ModelEvent> {
    if (usage !== undefined && usage !== null) this.#usage = usage
    if (model) this.#model = model
    for (const { index, delta, finish_reason: reason } of choices) {
      if (index !== 0) continue // only one answer is requested
      if (delta) yield* this.#delta(delta as Fresh)
      if (reason) this.#reason = reason
    }
  }

  *finish(): Generator<ModelEvent> {
    // Without a finish reason the answer is incomplete, so there is no `finish` event.
    if (this.#reason === undefined) return
    yield* this.#close()
    const [message] = messagesOf(openaiChat.decode([this.#message]))
    if (message === undefined) return
    const {
      prompt_tokens: input = 0,
      completion_tokens: output = 0,
      prompt_tokens_details: details,
    } = this.#usage ?? {}
    yield {
      type: 'finish',
      message,
      reason: reasons[this.#reason] ?? 'other',
      usage: { input, output, ...(typeof details?.cached_tokens === 'number' && { cacheRead: details.cached_tokens }) },
      ...(this.#model !== undefined && { model: this.#model }),
    }
  }

  *#delta(delta: Fresh): Generator<ModelEvent> {
    const message = this.#message
    for (const [field, value] of Object.entries(delta)) {
      if (value === null || field === 'role') continue
      if (field === 'tool_calls') for (const call of value as Fresh[]) yield* this.#call(call)
      else if (typeof value !== 'string') message[field] = value
      else {
        const before = message[field]
        message[field] = typeof before === 'string' ? before + value : value
        if (field === 'content' || field === 'refusal' || field === 'reasoning_content' || field === 'reasoning')
          yield* this.#text(field, value)
      }
    }
  }

  *#text(field: string, text: string): Generator<ModelEvent> {
    if (text === '') return
    const block = field === 'content' ? 'text' : field === 'refusal' ? 'refusal' : 'reasoning'
    const index = yield* this.#begin(field, block, () => ({ role: 'assistant', [field]: this.#message[field] }))
    yield deltaOf(block, index, text)
  }

  *#call(piece: Fresh): Generator<ModelEvent> {
    const calls = (this.#message['tool_calls'] ??= []) as Fresh[]
    const { index: place, ...rest } = piece
    const known = typeof place === 'number' ? place : placeOf(calls, rest['id'])
    const call = (calls[known] ??= {})
    const text = grow(call, rest)
    const called = (call['function'] ?? call['custom'] ?? {}) as Fresh
    const index = yield* this.#begin(`call ${known}`, 'tool_call', () => ({ role: 'assistant', tool_calls: [call] }), {
      ...(typeof call['id'] === 'string' && { callId: call['id'] }),
      ...(typeof called['name'] === 'string' && { name: called['name'] }),
    })
    if (text !== '') yield deltaOf('tool_call', index, text)
  }

  *#begin(
    key: string,
    block: BlockType,
    wire: () => Fresh,
    named: { readonly callId?: string; readonly name?: string } = {},
  ): Generator<ModelEvent, number> {
    const found = this.#blocks.get(key)
    if (found !== undefined) return found.index
    yield* this.#close()
    const index = this.#blocks.size
    this.#blocks.set(key, { index, block, wire })
    this.#open = key
    yield { type: 'block_start', index, block, ...named }
    return index
  }

  /** Ends the open block. A block is complete when another one starts. */
  *#close(): Generator<ModelEvent> {
    const open = this.#open === undefined ? undefined : this.#blocks.get(this.#open)
    this.#open = undefined
    if (open !== undefined)
      yield { type: 'block_end', index: open.index, block: open.block, part: partOf(openaiChat, [open.wire()]) }
  }
}

/** The place of a piece without `index`, which some servers leave out: that of its id, or of the last call. */
const placeOf = (calls: readonly Fresh[], id: unknown): number => {
  if (typeof id !== 'string' || id === '') return Math.max(0, calls.length - 1)
  const found = calls.findIndex((call) => call['id'] === id)
  return found === -1 ? calls.length : found
}

/** Merges a piece of a call. Returns the arguments in it. */
const grow = (call: Fresh, piece: Fresh): string => {
  let text = ''
  for (const [field, value] of Object.entries(piece)) {
    if (value === null) continue
    if ((field === 'function' || field === 'custom') && typeof value === 'object')
      text += grow((call[field] ??= {}) as Fresh, value as Fresh)
    else if ((field === 'arguments' || field === 'input') && typeof value === 'string') {
      call[field] = ((call[field] as string | undefined) ?? '') + value
      text += value
    } else if (value !== '' || call[field] === undefined) call[field] = value
  }
  return text
}

const reasons: { readonly [reason: string]: FinishReason } = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  content_filter: 'refusal',
}
