/** Anthropic Messages. */
import * as E from '#fp-ts/Either'
import { pipe } from '#fp-ts/function'
import { anthropic, decodeResponse } from 'indelible/codecs/anthropic'
import type { Decoded } from 'indelible/codecs'
import { isLeft, isObject, jsonIn, parseJson } from 'indelible/json/kit'
import { errorIn, isPlace, modelIn, numberIn, textIn, type Api, type StreamState, type Wire } from './api.ts'

/** The calls of this API that are recorded, and how to read them. */
export const anthropicApi: Api = {
  name: 'anthropic',
  // Also on Vertex AI, but not the messages of OpenAI threads.
  path: /\/messages$(?<!\/threads\/[^/]+\/messages)|\/anthropic\/models\/[^/:]+:(?:rawPredict|streamRawPredict)$/,
  request: ({ model, messages, system, tools, stream: _stream, ...parameters }, path) => ({
    model: model ?? modelIn(path),
    messages: anthropic.decode(messages),
    system,
    tools,
    parameters,
    previous: undefined,
  }),
  stream: () => new MessagesStream(),
  messages: (answer) => pipe(decodeResponse(answer), E.map(withRawArguments)),
  usage: (answer) => {
    const [input, output] = [numberIn(answer, 'usage', 'input_tokens'), numberIn(answer, 'usage', 'output_tokens')]
    if (input === undefined || output === undefined) return undefined
    // `input_tokens` does not include the tokens that the cache read and wrote.
    const read = numberIn(answer, 'usage', 'cache_read_input_tokens') ?? 0
    const write = numberIn(answer, 'usage', 'cache_creation_input_tokens') ?? 0
    return { input: input + read + write, output, cacheRead: read, cacheWrite: write }
  },
  choices: () => 1,
  stop: (answer) => textIn(answer, 'stop_reason'),
  model: (answer) => textIn(answer, 'model'),
  id: (answer) => textIn(answer, 'id'),
}

/** Events of Anthropic Messages. Source: Anthropic API reference, streaming (2026-11). */
class MessagesStream implements StreamState {
  #message: Wire | undefined
  readonly #blocks: Wire[] = []
  readonly #inputs = new Map<number, string>()
  ended = false
  error: string | undefined

  take(event: Wire): void {
    const { type, index, message, content_block: block, delta, usage } = event
    const place = isPlace(index) ? index : -1
    if (type === 'error') this.error ??= errorIn(event)
    else if (type === 'message_start' && isObject(message)) this.#message ??= message as Wire
    else if (type === 'message_stop') this.ended = true
    else if (type === 'content_block_start' && isObject(block) && place >= 0) this.#blocks[place] = block as Wire
    else if (type === 'content_block_delta' && isObject(delta)) this.#delta(place, delta as Wire)
    else if (type === 'message_delta' && this.#message !== undefined) {
      if (isObject(delta)) Object.assign(this.#message, delta)
      const before = this.#message['usage']
      if (isObject(usage)) this.#message['usage'] = { ...(isObject(before) ? before : {}), ...withoutNulls(usage) }
    }
  }

  #delta(place: number, delta: Wire): void {
    const block = this.#blocks[place]
    if (block === undefined) return
    const { type, text, thinking, signature, partial_json: json, citation } = delta
    const add = (field: string, more: unknown): void => {
      block[field] = `${typeof block[field] === 'string' ? block[field] : ''}${String(more)}`
    }
    if (type === 'text_delta') add('text', text)
    else if (type === 'thinking_delta') add('thinking', thinking)
    else if (type === 'signature_delta') add('signature', signature)
    else if (type === 'citations_delta')
      block['citations'] = [...(Array.isArray(block['citations']) ? (block['citations'] as unknown[]) : []), citation]
    else if (type === 'input_json_delta') this.#inputs.set(place, `${this.#inputs.get(place) ?? ''}${String(json)}`)
  }

  get wire(): Wire | undefined {
    if (this.#message === undefined) return undefined
    const content = this.#blocks.flatMap((block, place) => {
      const json = this.#inputs.get(place)
      if (json === undefined || json === '') return block
      const input = parseJson(json)
      return { ...block, input: isLeft(input) ? json : input.right }
    })
    return { ...this.#message, content }
  }
}

/** The same answer with the raw text of arguments that are not JSON, for example because they broke off. */
const withRawArguments = (decoded: Decoded): Decoded => ({
  ...decoded,
  messages: decoded.messages.map((message) => ({
    ...message,
    content: message.content.map((part) => {
      const input = part.type === 'tool_call' ? jsonIn(part.arguments) : undefined // otherwise an object
      return typeof input === 'string' ? { ...part, arguments: input } : part
    }),
  })),
})

/** Usage without null fields: a later event does not undo an earlier one. */
const withoutNulls = (usage: object): object =>
  Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null))
