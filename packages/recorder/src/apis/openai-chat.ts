/** OpenAI Chat Completions. */
import { openaiChat } from 'indelible/codecs/openai-chat'
import { isObject } from 'indelible/json/kit'
import { errorIn, isPlace, objectsIn, textIn, type Api, type StreamState, type Wire } from './api.ts'
import { openaiUsage } from './usage.ts'

/** The calls of this API that are recorded, and how to read them. */
export const openaiChatApi: Api = {
  name: 'openai-chat',
  path: /\/chat\/completions$/,
  request: ({ model, messages, system, tools, stream: _stream, stream_options: _options, ...parameters }) => ({
    model,
    messages: openaiChat.decode(messages),
    system,
    tools,
    parameters,
    previous: undefined,
  }),
  stream: () => new ChatStream(),
  messages: (answer) => {
    const [choice] = objectsIn(answer['choices'])
    return openaiChat.decode(choice === undefined ? [] : [choice['message']])
  },
  usage: (answer) => openaiUsage(answer, 'prompt_tokens', 'completion_tokens', 'prompt_tokens_details'),
  choices: (answer) => objectsIn(answer['choices']).length,
  stop: (answer) => textIn(objectsIn(answer['choices'])[0], 'finish_reason'),
  model: (answer) => textIn(answer, 'model'),
  id: (answer) => textIn(answer, 'id'),
}

/** Chunks of Chat Completions. Source: OpenAI API reference, Chat Completions streaming (2026-11). */
class ChatStream implements StreamState {
  readonly #message: Wire = { role: 'assistant', content: null }
  #seen = false
  #reason: unknown
  #rest: Wire = {}
  /** The indexes of the other choices, which are only counted. */
  readonly #others = new Set<unknown>()
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
      if (index !== undefined && index !== 0) {
        this.#others.add(index)
        continue
      }
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
    const first = { message: this.#message, finish_reason: this.#reason }
    return { ...this.#rest, choices: [first, ...[...this.#others].map((index) => ({ index }))] }
  }
}

/** Grow a message by a delta: texts are joined, calls are distinguished by their index. */
const grow = (target: Wire, delta: Wire): void => {
  for (const [field, value] of Object.entries(delta)) {
    if (value === null || value === undefined || field === '__proto__') continue
    const before = Object.hasOwn(target, field) ? target[field] : undefined // ignores inherited properties
    if (field === 'role' || field === 'id' || field === 'type' || field === 'index') {
      if (field !== 'index' && before === undefined) target[field] = value
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
