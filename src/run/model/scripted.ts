/** A model without a provider that answers from a script, for demonstrations and tests. */
import { describe, hasField, optionsOf } from '../../json/index.ts'
import { textOf, type Message, type Part } from '../../message/index.ts'
import { amount, longestTimer } from '../../task/index.ts'
import type { Model, ModelEvent, ModelRequest } from './model.ts'
import { deltaOf } from './blocks.ts'

/** How a scripted model streams. */
interface ScriptOptions {
  /** The name of the model. Default: `scripted`. */
  readonly name?: string
  /** Whether the results of a step form one message or one per call. Default: `perCall`. */
  readonly results?: Model['results']
  /** Milliseconds between two streamed pieces. Default: 0; other tasks still get a turn. */
  readonly pause?: number
}

/** The next answer of a scripted model: a message, or a function of the request that returns one. */
export type Line = Message | ((request: ModelRequest) => Message)

/**
 * A model that answers with the lines of a script in order, streamed word by word. Its usage counts words.
 *
 * @param lines the answers, in order
 * @returns the model. Its stream throws when the script has no more lines
 */
export const scriptedModel = (lines: Iterable<Line>, options: ScriptOptions = {}): Model => {
  const {
    name = 'scripted',
    results = 'perCall',
    pause = 0,
  } = optionsOf('scriptedModel', options, { name: true, results: true, pause: true })
  amount('pause', pause, { unit: 'milliseconds', most: longestTimer })
  if (typeof (Object(lines) as Partial<typeof lines>)[Symbol.iterator] !== 'function' || typeof lines === 'string')
    throw new TypeError(`scriptedModel takes a list of messages, found ${describe(lines)}`)
  const script = lines[Symbol.iterator]()
  return Object.freeze({
    name,
    results,
    stream: async function* (request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
      const { value: line, done } = script.next()
      if (done === true) throw new RangeError(`${name}: the script has no more lines`) // a programming error, so no fault
      const message = typeof line === 'function' ? line(request) : line
      for (const event of streamedEvents(message)) {
        await new Promise((resolve) => setTimeout(resolve, pause))
        signal.throwIfAborted()
        yield event
      }
      const input = [...request.messages].reduce((sum, message) => sum + words(message), 0)
      const calls = message.content.some(({ type }) => type === 'tool_call')
      yield {
        type: 'finish',
        message,
        reason: calls ? 'tool_calls' : 'end_turn',
        usage: { input, output: words(message) },
        model: name,
      }
    },
  })
}

const words = (message: Message): number => textOf(message).split(/\s+/).filter(Boolean).length

/** The events of a message that is streamed word by word, without the last, `finish`. */
export function* streamedEvents(message: Message): Generator<ModelEvent> {
  for (const [index, part] of message.content.entries()) {
    const block =
      part.type === 'text' || part.type === 'reasoning' || part.type === 'tool_call' || part.type === 'refusal'
        ? part.type
        : 'provider'
    yield { type: 'block_start', index, block, ...(part.type === 'tool_call' && { callId: part.id, name: part.name }) }
    if (block !== 'provider') for (const text of pieces(part)) yield deltaOf(block, index, text)
    if (part.type === 'reasoning' && part.signature !== undefined)
      yield { type: 'signature_delta', index, block: 'reasoning', text: part.signature }
    yield { type: 'block_end', index, block, part }
  }
}

const pieces = (part: Part): readonly string[] => {
  const text = part.type === 'tool_call' ? part.arguments : hasField(part, 'text') ? part.text : ''
  return text.match(/\s*\S+|\s+$/g) ?? []
}
