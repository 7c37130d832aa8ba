/** OpenAI Responses. */
import { JoinedEvents, openaiResponsesReading, openaiResponsesUsage } from 'indelible/internal/codecs'
import { openaiResponses } from 'indelible/codecs/openai-responses'
import { ownField, ownFields, isObject } from 'indelible/internal/json'
import { errorIn, textIn, type Api, type Wire } from './api.ts'

/** The calls of this API that are recorded, and how to read them. */
export const openaiResponsesApi: Api = {
  name: 'openai-responses',
  path: /\/responses$/,
  request: ({ model, input, instructions, tools, stream: _stream, stream_options: _options, ...rest }) => {
    const { previous_response_id: previous, ...parameters } = ownFields(rest)
    const conversation = ownField(rest, 'conversation')
    return {
      model,
      list: input ?? [],
      system: instructions,
      tools,
      parameters,
      previous,
      conversation: isObject(conversation) ? conversation['id'] : conversation,
    }
  },
  decode: openaiResponses.decode,
  reading: openaiResponsesReading,
  join: () => new JoinedEvents(),
  errorOf: (event) =>
    event['type'] === 'error'
      ? errorIn({ error: event })
      : event['type'] === 'response.failed'
        ? (errorIn(event['response'] as Wire) ?? 'the response failed')
        : undefined,
  messages: (answer) => openaiResponses.decode(answer['output'] ?? []),
  usage: openaiResponsesUsage,
  content: (answer) => answer['output'],
  tier: (answer) => textIn(answer, 'service_tier'),
  choices: () => 1,
  // An answer that was cut is `incomplete`, and only the details say whether by a limit or a filter.
  stop: (answer) => {
    const cut = ownField(answer, 'incomplete_details')
    return (isObject(cut) ? textIn(cut, 'reason') : undefined) ?? textIn(answer, 'status')
  },
  model: (answer) => textIn(answer, 'model'),
  id: (answer) => textIn(answer, 'id'),
}
