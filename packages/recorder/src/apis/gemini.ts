/** Gemini's `generateContent` and `streamGenerateContent` in the Gemini API, Vertex AI and Code Assist. */
import { decodeResponse, gemini } from 'indelible/codecs/gemini'
import { geminiReading, geminiUsage, JoinedResponse } from 'indelible/internal/codecs'
import { isObject } from 'indelible/internal/json'
import { errorIn, modelIn, objectsIn, textIn, type Api, type Wire } from './api.ts'

/** The calls of this API that are recorded, and how to read them. */
export const geminiApi: Api = {
  name: 'gemini',
  path: /[^/]:(?:generateContent|streamGenerateContent)$/,
  request: (body, path) => {
    // Code Assist, which Gemini CLI uses for logged-in users, wraps the request in an envelope.
    const { request, ...envelope } = body
    const {
      contents,
      systemInstruction,
      system_instruction: other,
      tools,
      ...rest
    } = isObject(request) ? request : body
    const { session_id: _session, model: _model, ...parameters } = rest
    return {
      model: envelope['model'] ?? modelIn(path),
      list: contents,
      system: systemInstruction ?? other,
      tools,
      parameters,
      previous: undefined,
      client: isObject(request) ? request['session_id'] : undefined,
    }
  },
  decode: (contents) => gemini.decode({ contents }),
  reading: geminiReading,
  // Source: Gemini API reference, streamGenerateContent (2026-11)
  join: () => new JoinedResponse(),
  eventIn: (event) => (isObject(event['response']) ? (event['response'] as Wire) : event),
  errorOf: errorIn,
  chunks: true,
  messages: (answer, after) => decodeResponse(answer, { after }),
  usage: geminiUsage,
  content: (answer) => answer['candidates'],
  choices: () => 1,
  stop: (answer) => textIn(objectsIn(answer['candidates'])[0], 'finishReason') ?? blockedIn(answer),
  model: (answer) => textIn(answer, 'modelVersion'),
  id: (answer) => textIn(answer, 'responseId'),
}

const blockedIn = (answer: Wire): string | undefined => {
  const { promptFeedback: feedback } = answer
  const reason = isObject(feedback) ? feedback['blockReason'] : undefined
  return typeof reason === 'string' ? `blocked: ${reason}` : undefined
}
