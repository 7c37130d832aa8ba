/** OpenAI Chat Completions. */
import { JoinedCompletion, madeId, nextMadeId, openaiChatReading, openaiChatUsage } from 'indelible/internal/codecs'
import { openaiChat } from 'indelible/codecs/openai-chat'
import { isObject } from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import { errorIn, objectsIn, textIn, type Api } from './api.ts'

/** The calls of this API that are recorded, and how to read them. */
export const openaiChatApi: Api = {
  name: 'openai-chat',
  path: /\/chat\/completions$/,
  request: ({ model, messages, system, tools, stream: _stream, stream_options: _options, ...parameters }) => ({
    model,
    list: messages,
    system,
    tools,
    parameters,
    previous: undefined,
  }),
  decode: openaiChat.decode,
  reading: openaiChatReading,
  join: () => new JoinedCompletion(),
  errorOf: errorIn,
  endsWithMark: true,
  messages: (answer, after) => {
    const [choice] = objectsIn(answer['choices'])
    return openaiChat.decode(choice === undefined ? [] : [withCallIds(choice['message'], after)])
  },
  // Moonshot counts inside of a choice.
  usage: openaiChatUsage,
  content: (answer) => objectsIn(answer['choices'])[0]?.['message'],
  tier: (answer) => textIn(answer, 'service_tier'),
  choices: (answer) => objectsIn(answer['choices']).length,
  stop: (answer) => textIn(objectsIn(answer['choices'])[0], 'finish_reason'),
  model: (answer) => textIn(answer, 'model'),
  id: (answer) => textIn(answer, 'id'),
}

/** A message whose calls all have ids: some servers give them none. */
const withCallIds = (message: unknown, after: readonly Message[]): unknown => {
  if (!isObject(message) || !Array.isArray(message['tool_calls'])) return message
  let next: number | undefined
  const calls: unknown[] = []
  for (const call of message['tool_calls'] as readonly unknown[])
    if (isObject(call) && (call['id'] ?? '') === '') {
      next ??= nextMadeId(after)
      calls.push({ ...call, id: madeId(next++) })
    } else calls.push(call)
  return next === undefined ? message : { ...message, tool_calls: calls }
}
