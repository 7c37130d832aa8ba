/** Anthropic Messages. */
import * as E from '#fp-ts/Either'
import { pipe } from '#fp-ts/function'
import { anthropic, decodeResponse } from 'indelible/codecs/anthropic'
import type { Decoded } from 'indelible/codecs'
import { anthropicReading, anthropicUsage, JoinedMessage } from 'indelible/internal/codecs'
import { isObject, jsonIn } from 'indelible/internal/json'
import { errorIn, modelIn, textIn, type Api, type Wire } from './api.ts'

/** The calls of this API that are recorded, and how to read them. */
export const anthropicApi: Api = {
  name: 'anthropic',
  // Also on Vertex AI, but not the messages of OpenAI threads.
  path: /\/messages$(?<!\/threads\/[^/]+\/messages)|\/anthropic\/models\/[^/:]+:(?:rawPredict|streamRawPredict)$/,
  request: ({ model, messages, system, tools, stream: _stream, ...parameters }, path) => ({
    model: model ?? modelIn(path),
    list: messages,
    system,
    tools,
    parameters,
    previous: undefined,
  }),
  decode: anthropic.decode,
  reading: anthropicReading,
  join: () => new JoinedMessage(),
  errorOf: (event) => (event['type'] === 'error' ? errorIn(event) : undefined),
  messages: (answer) => pipe(decodeResponse(answer), E.map(withRawArguments)),
  usage: anthropicUsage,
  content: (answer) => answer['content'],
  tier: ({ usage }) =>
    isObject(usage) ? (usage['speed'] === 'fast' ? 'fast' : textIn(usage as Wire, 'service_tier')) : undefined,
  choices: () => 1,
  stop: (answer) => textIn(answer, 'stop_reason'),
  model: (answer) => textIn(answer, 'model'),
  id: (answer) => textIn(answer, 'id'),
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
