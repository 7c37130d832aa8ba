import type { Codec } from '../codec.ts'
import { decode } from './decode.ts'
import { encode } from './encode.ts'
import { format } from './format.ts'
import type { AiModelMessage } from './wire.ts'

/**
 * Model messages of the AI SDK (`ai`): what `generateText` and `streamText` take, and give back in `responseMessages`.
 *
 * Reads every part and kind of output; `URL` objects, bytes and undefined fields of live messages too, in the form that
 * they have as JSON, bytes as base64. Results carry the name of their tool, taken from the call where another format
 * leaves it out.
 *
 * Source  `ai` 7.0.173
 * @example
 * const { wire, losses } = aiModelMessages.encode(mend(history.view()).messages)
 * await generateText({ model, messages: wire, allowSystemInMessages: true })
 */
export const aiModelMessages: Codec<AiModelMessage[]> = Object.freeze({ format, decode, encode })
