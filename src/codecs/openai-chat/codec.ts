import type { Codec } from '../codec.ts'
import { decode, format } from './decode.ts'
import { encode } from './encode.ts'
import type { ChatMessage } from './wire.ts'

/**
 * OpenAI Chat Completions messages: used in requests and saved by most tools.
 *
 * Reads every role (including `function`), string and part content, tool calls of type function and custom, the
 * legacy `function_call`, and `reasoning_content` of compatible servers. Anything else is carried unchanged.
 *
 * Source  OpenAI API reference, Chat Completions (2026-11)
 * @example
 * const { wire, losses } = openaiChat.encode(mend(history.view()).messages)
 */
export const openaiChat: Codec<ChatMessage[]> = Object.freeze({ format, decode, encode })
