import { encodeWith } from '../allow.ts'
import type { Codec } from '../codec.ts'
import { decode, format } from './decode.ts'
import { encode } from './encode.ts'
import type { ChatMessage } from './wire.ts'

/**
 * OpenAI Chat Completions messages: what requests carry, and what most tools save.
 *
 * Reads every role (`function` too), string and part content, tool calls of type function and custom, the legacy
 * `function_call`, and `reasoning_content` of compatible servers; carries whatever else stands there.
 *
 * Source  OpenAI API reference, Chat Completions (2026-11)
 * @example
 * const { wire, losses } = openaiChat.encode(mend(history.view()).messages)
 */
export const openaiChat: Codec<ChatMessage[]> = Object.freeze({ format, decode, encode: encodeWith(encode) })
