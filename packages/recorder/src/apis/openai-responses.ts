/** OpenAI Responses. */
import { openaiResponses } from 'indelible/codecs/openai-responses'
import { ownField, ownFields, isObject } from 'indelible/json/kit'
import { errorIn, isPlace, textIn, type Api, type StreamState, type Wire } from './api.ts'
import { openaiUsage } from './usage.ts'

/** The calls of this API that are recorded, and how to read them. */
export const openaiResponsesApi: Api = {
  name: 'openai-responses',
  path: /\/responses$/,
  request: ({ model, input, instructions, tools, stream: _stream, stream_options: _options, ...rest }) => {
    const { previous_response_id: previous, ...parameters } = ownFields(rest)
    const conversation = ownField(rest, 'conversation')
    return {
      model,
      messages: openaiResponses.decode(input ?? []),
      system: instructions,
      tools,
      parameters,
      previous,
      conversation: isObject(conversation) ? conversation['id'] : conversation,
    }
  },
  stream: () => new ResponsesStream(),
  messages: (answer) => openaiResponses.decode(answer['output'] ?? []),
  usage: (answer) => openaiUsage(answer, 'input_tokens', 'output_tokens', 'input_tokens_details'),
  choices: () => 1,
  // An answer that was cut is `incomplete`, and only the details say whether by a limit or a filter.
  stop: (answer) => {
    const cut = ownField(answer, 'incomplete_details')
    return (isObject(cut) ? textIn(cut, 'reason') : undefined) ?? textIn(answer, 'status')
  },
  model: (answer) => textIn(answer, 'model'),
  id: (answer) => textIn(answer, 'id'),
}

/** Events of OpenAI Responses. Source: OpenAI API reference, Responses streaming (2026-11). */
class ResponsesStream implements StreamState {
  #response: Wire | undefined
  readonly #items: Wire[] = []
  readonly #texts = new Map<string, string>()
  ended = false
  error: string | undefined

  take(event: Wire): void {
    if (this.ended) return // some recordings contain the next answer too
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
