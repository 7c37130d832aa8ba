import { encodeWith } from '../allow.ts'
import type { Codec, Encode } from '../codec.ts'
import { decode } from './decode.ts'
import { encode, type GeminiEncodeOptions } from './encode.ts'
import { format } from './marks.ts'
import type { GeminiConversation } from './wire.ts'

/** The codec of Gemini. */
export interface GeminiCodec extends Codec<GeminiConversation> {
  /** Write a settled conversation as a request carries it. */
  readonly encode: Encode<GeminiConversation, GeminiEncodeOptions>
}

/**
 * Gemini: the `systemInstruction` and `contents` of `generateContent`.
 *
 * Reads text, reasoning with its signatures, bytes and files, calls and results; code that the model ran and whatever else
 * there is is carried. Ids of calls are optional: a call without one is called `call-without-id-0` and so on, which is not
 * written, and a result without one belongs to the first waiting call of its name. Contents of the model in a row, as the
 * chat of `@google/genai` keeps the chunks of a stream, are one message. Both spellings of fields are read.
 *
 * Source  Gemini API reference, Content; Vertex AI reference, Content; @google/genai 3.1.0 (2026-11)
 * @example
 * const { systemInstruction, contents } = orThrow(gemini.encode(mend(history.view()).messages)).wire
 * await client.models.generateContent({ model, contents, config: { systemInstruction } })
 */
export const gemini: GeminiCodec = Object.freeze({ format, decode, encode: encodeWith(encode) })
