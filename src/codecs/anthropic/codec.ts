import type { Codec } from '../codec.ts'
import { decode } from './decode.ts'
import { encode, type AnthropicEncodeOptions } from './encode.ts'
import { format } from './marks.ts'
import type { AnthropicConversation } from './wire.ts'

/**
 * Anthropic Messages: the `system` and `messages` of a request.
 *
 * Reads all blocks of the stable and beta API: text with citations, images, documents, calls and results, thinking
 * and redacted thinking. Server tools, their results and unknown blocks are carried unchanged. `cache_control` stays
 * with its block. The results of a turn become one tool message.
 *
 * Source  Anthropic API reference, Messages (2026-11)
 * @example
 * const { wire, losses } = anthropic.encode(mend(history.view()).messages)
 * await client.messages.create({ model, max_tokens, ...wire })
 */
export const anthropic: Codec<AnthropicConversation, AnthropicEncodeOptions> = Object.freeze({ format, decode, encode })
