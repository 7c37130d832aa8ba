/** What a provider answers, read from its body or from its stream: the message, its cost, and how it ended. */
import { createParser } from 'eventsource-parser'
import type { Either } from 'fp-ts/lib/Either.js'
import { decodeResponse } from '../codecs/anthropic/index.ts'
import type { CodecFault, Decoded } from '../codecs/index.ts'
import { openaiChat } from '../codecs/openai-chat/index.ts'
import { openaiResponses } from '../codecs/openai-responses/index.ts'
import { isLeft, isObject, parseJson } from '../json/index.ts'
import type { Message } from '../message/index.ts'
import type { Usage } from '../notes/index.ts'
import { reasonOf } from '../task/index.ts'
import type { RecordedApi } from './wire.ts'

/** An answer, as far as it came. */
export interface Answered {
  /** What to record of it. */
  readonly messages: readonly Message[]
  /** Whether it came to its end. */
  readonly whole: boolean
  readonly usage: Usage | undefined
  /** The model that answered, if it says so. */
  readonly model: string | undefined
  /** Why it stopped. */
  readonly stop: string | undefined
  /** What a later request may continue it by. */
  readonly id: string | undefined
  /** What the provider says went wrong. */
  readonly error: string | undefined
}

type Wire = { [field: string]: unknown }

/** Reads an answer piece by piece. Never throws. */
export class AnswerReader {
  readonly #api: RecordedApi
  readonly #streams: boolean
  readonly #decoder = new TextDecoder()
  readonly #parser = createParser({ onEvent: ({ data }) => this.#event(data) })
  readonly #state: StreamState
  #body = ''
  /** Why nothing more of it is read. */
  #unread: string | undefined

  constructor(api: RecordedApi, contentType: string | undefined) {
    this.#api = api
    this.#streams = contentType?.includes('event-stream') ?? false
    this.#state =
      api === 'openai-chat' ? new ChatStream() : api === 'anthropic' ? new MessagesStream() : new ResponsesStream()
  }

  take(bytes: Uint8Array): void {
    if (this.#unread !== undefined) return
    try {
      const text = this.#decoder.decode(bytes, { stream: true })
      if (this.#streams) this.#parser.feed(text)
      else this.#body += text
    } catch (cause) {
      // Such as a body that is longer than a text can be.
      this.#unread = `the answer can't be read: ${reasonOf(cause)}`
      this.#body = ''
    }
  }

  /** What was answered. `whole` is false where the connection broke. */
  end(whole: boolean): Answered {
    const rest = this.#decoder.decode()
    if (this.#streams) {
      this.#parser.feed(rest)
      this.#parser.reset({ consume: true })
      return this.#answered(this.#state.wire, this.#state, whole)
    }
    const parsed = parseJson(this.#body + rest)
    const wire = !isLeft(parsed) && isObject(parsed.right) ? (parsed.right as Wire) : undefined
    return this.#answered(wire, { ended: wire !== undefined, error: errorIn(wire) }, whole)
  }

  #event(data: string): void {
    if (data === '[DONE]') return
    const parsed = parseJson(data)
    // What parseJson gives is frozen, and a stream grows what it is told.
    if (!isLeft(parsed) && isObject(parsed.right)) this.#state.take(structuredCloneOf(parsed.right as Wire))
  }

  #answered(wire: Wire | undefined, state: Pick<StreamState, 'ended' | 'error'>, whole: boolean): Answered {
    const { ended, error = this.#unread } = state
    const decoded = wire === undefined || error !== undefined ? undefined : decodeAnswer(this.#api, wire)
    const messages = decoded === undefined || isLeft(decoded) ? [] : decoded.right.messages
    const done = (whole || this.#streams) && ended && error === undefined
    return {
      messages: done ? messages : cutOff(messages),
      whole: done,
      usage: usageOf(this.#api, wire),
      model: textIn(wire, 'model'),
      stop: stopOf(this.#api, wire),
      id: textIn(wire, 'id'),
      error:
        error ??
        (decoded !== undefined && isLeft(decoded) ? `the answer can't be read: ${decoded.left._tag}` : undefined),
    }
  }
}

declare const TextDecoder: new () => { decode: (bytes?: Uint8Array, options?: { readonly stream: boolean }) => string }

const structuredCloneOf = (value: Wire): Wire => JSON.parse(JSON.stringify(value)) as Wire

const decodeAnswer = (api: RecordedApi, wire: Wire): Either<CodecFault, Decoded> => {
  if (api === 'anthropic') return decodeResponse(wire)
  if (api === 'openai-responses') return openaiResponses.decode(wire['output'] ?? [])
  const [choice] = objectsIn(wire['choices'])
  return openaiChat.decode(choice === undefined ? [] : [choice['message']])
}

/** Of an answer that broke off: what was whole of it, and text, marked. A call may lack half of its arguments. */
const cutOff = (messages: readonly Message[]): readonly Message[] =>
  messages.flatMap((message) => {
    const content = message.content.filter(({ type }) => type === 'text')
    return content.length === 0
      ? []
      : [{ ...message, content, meta: { ...message.meta, indelible: { interrupted: true } } }]
  })

const objectsIn = (list: unknown): readonly Wire[] => (Array.isArray(list) ? (list.filter(isObject) as Wire[]) : [])

/** A place that an event names. More than anybody uses would be a list of holes. */
const isPlace = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) >= 0 && Number(value) < 10_000

const textIn = (wire: Wire | undefined, field: string): string | undefined => {
  const value = wire?.[field]
  return typeof value === 'string' ? value.toWellFormed() : undefined
}

const errorIn = (wire: Wire | undefined): string | undefined => {
  const error = wire?.['error']
  if (error === undefined || error === null) return undefined
  const message = isObject(error) ? error['message'] : error
  return typeof message === 'string'
    ? message.slice(0, 500).toWellFormed()
    : 'the provider gave an error without a message'
}

const stopOf = (api: RecordedApi, wire: Wire | undefined): string | undefined => {
  if (api === 'anthropic') return textIn(wire, 'stop_reason')
  if (api === 'openai-responses') return textIn(wire, 'status')
  const [choice] = objectsIn(wire?.['choices'])
  return textIn(choice, 'finish_reason')
}

const numberIn = (value: unknown, ...path: readonly string[]): number | undefined => {
  const found = path.reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), value)
  return typeof found === 'number' && Number.isSafeInteger(found) && found >= 0 ? found : undefined
}

/** Tokens as the provider counted them. Anthropic's `input_tokens` leaves out what its cache read and wrote. */
const usageOf = (api: RecordedApi, wire: Wire | undefined): Usage | undefined => {
  const usage = wire?.['usage']
  if (!isObject(usage)) return undefined
  const named = api === 'openai-chat' ? ['prompt_tokens', 'completion_tokens'] : ['input_tokens', 'output_tokens']
  const input = numberIn(usage, named[0] as string)
  const output = numberIn(usage, named[1] as string)
  if (input === undefined || output === undefined) return undefined
  if (api === 'anthropic') {
    const read = numberIn(usage, 'cache_read_input_tokens') ?? 0
    const write = numberIn(usage, 'cache_creation_input_tokens') ?? 0
    return { input: input + read + write, output, cacheRead: read, cacheWrite: write }
  }
  const cached =
    numberIn(usage, 'prompt_tokens_details', 'cached_tokens') ??
    numberIn(usage, 'input_tokens_details', 'cached_tokens')
  return { input, output, ...(cached !== undefined && { cacheRead: cached }) }
}

/** What the events of a stream come to. */
interface StreamState {
  readonly take: (event: Wire) => void
  /** The body that would have been answered without a stream. */
  readonly wire: Wire | undefined
  /** Whether the stream said that it is done. */
  readonly ended: boolean
  readonly error: string | undefined
}

/** Chunks of Chat Completions. Source: OpenAI API reference, Chat Completions streaming (2026-11). */
class ChatStream implements StreamState {
  readonly #message: Wire = { role: 'assistant', content: null }
  #seen = false
  #reason: unknown
  #rest: Wire = {}
  error: string | undefined

  take(chunk: Wire): void {
    this.error ??= errorIn(chunk)
    const { choices, usage, model, id } = chunk
    this.#rest = {
      ...this.#rest,
      ...(isObject(usage) && { usage }),
      ...(typeof model === 'string' && model !== '' && { model }),
      ...(typeof id === 'string' && id !== '' && { id }),
    }
    for (const { index, delta, finish_reason: reason } of objectsIn(choices)) {
      if (index !== undefined && index !== 0) continue
      this.#seen = true
      if (isObject(delta)) grow(this.#message, delta as Wire)
      this.#reason = reason ?? this.#reason
    }
  }

  get ended(): boolean {
    return typeof this.#reason === 'string'
  }

  get wire(): Wire | undefined {
    if (!this.#seen) return undefined
    return { ...this.#rest, choices: [{ index: 0, message: this.#message, finish_reason: this.#reason ?? null }] }
  }
}

/** Grow a message by a delta: texts are joined, calls are told apart by their index. */
const grow = (target: Wire, delta: Wire): void => {
  for (const [field, value] of Object.entries(delta)) {
    if (value === null || value === undefined || field === '__proto__') continue
    const before = Object.hasOwn(target, field) ? target[field] : undefined // nothing that all objects have grows
    if (field === 'role' || field === 'id' || field === 'type' || field === 'index') {
      if (field !== 'index') target[field] ??= value
    } else if (typeof value === 'string') target[field] = typeof before === 'string' ? before + value : value
    else if (field === 'tool_calls' && Array.isArray(value)) {
      const calls = (Array.isArray(before) ? before : []) as Wire[]
      target[field] = calls
      for (const piece of objectsIn(value)) {
        const place = piece['index'] ?? Math.max(0, calls.length - 1)
        if (isPlace(place)) grow((calls[place] ??= {}), piece)
      }
    } else if (isObject(value) && isObject(before)) grow(before as Wire, value as Wire)
    else target[field] = value
  }
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
      if (isObject(usage)) this.#message['usage'] = { ...(isObject(before) ? before : {}), ...given(usage) }
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
      if (json === undefined || json === '') return [block]
      const input = parseJson(json)
      return isLeft(input) ? [] : [{ ...block, input: input.right }] // a call that was cut is no call
    })
    return { ...this.#message, content }
  }
}

/** Usage without what is null: a later event does not take back what an earlier one said. */
const given = (usage: object): object => Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null))

/** Events of OpenAI Responses. Source: OpenAI API reference, Responses streaming (2026-11). */
class ResponsesStream implements StreamState {
  #response: Wire | undefined
  readonly #items: Wire[] = []
  readonly #texts = new Map<string, string>()
  ended = false
  error: string | undefined

  take(event: Wire): void {
    if (this.ended) return // some recordings hold the next answer, too
    const { type, response, item, output_index: index, item_id: id, delta } = event
    if (type === 'error') this.error ??= errorIn({ error: event })
    else if (type === 'response.output_item.done' && isObject(item)) {
      this.#items[isPlace(index) ? index : this.#items.length] = item as Wire
    } else if (type === 'response.output_text.delta' && typeof delta === 'string')
      this.#texts.set(String(id ?? index), (this.#texts.get(String(id ?? index)) ?? '') + delta)
    else if (isObject(response)) {
      this.#response = response as Wire
      this.ended ||= type === 'response.completed' || type === 'response.incomplete'
      if (type === 'response.failed') this.error ??= errorIn(response as Wire) ?? 'the response failed'
    }
  }

  get wire(): Wire | undefined {
    if (this.#response === undefined) return undefined
    const output = this.#response['output']
    if (this.ended && Array.isArray(output) && output.length > 0) return this.#response
    const done = this.#items.filter((item) => item !== undefined)
    const known = new Set(done.map(({ id }) => id))
    const open = [...this.#texts].filter(([id]) => !known.has(id))
    const partial = open.map(([, text]) => ({
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text, annotations: [] }],
    }))
    return { ...this.#response, output: [...done, ...(this.ended ? [] : partial)] }
  }
}
