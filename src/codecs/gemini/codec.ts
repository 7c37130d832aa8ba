import type { Codec } from '../codec.ts'
import { decode } from './decode.ts'
import { encode, type GeminiEncodeOptions } from './encode.ts'
import { format } from './marks.ts'
import type { GeminiConversation } from './wire.ts'

/**
 * Gemini: the `systemInstruction` and `contents` of `generateContent`.
 *
 * Reads text, reasoning with signatures, bytes and files, calls and results. Code that the model ran, and anything
 * else, is carried unchanged. Call ids are optional: a call without one gets `call-without-id-0` and so on, which is
 * not written back, and a result without one belongs to the first waiting call with its name. Consecutive model
 * contents, as the chat of `@google/genai` stores stream chunks, become one message. Both spellings of field names
 * are read.
 *
 * Source  Gemini API reference, Content; Vertex AI reference, Content; @google/genai 3.1.0 (2026-11)
 * @example
 * const { systemInstruction, contents } = orThrow(gemini.encode(mend(history.view()).messages)).wire
 * await client.models.generateContent({ model, contents, config: { systemInstruction } })
 */
export const gemini: Codec<GeminiConversation, GeminiEncodeOptions> = Object.freeze({ format, decode, encode })
