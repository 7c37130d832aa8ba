import { encodeWith } from '../allow.ts'
import type { Codec, Encode, EncodeOptions } from '../codec.ts'
import { decode } from './decode.ts'
import { encode } from './encode.ts'
import { format } from './marks.ts'
import type { AnthropicConversation } from './wire.ts'

/** How a conversation is written for Anthropic. */
export interface AnthropicEncodeOptions extends EncodeOptions {
  /**
   * Write what was read as it stood, also where the API refuses it: an empty text, a text after a call, an error result
   * with an image. With false it is said in terms that the API takes, with a loss for each. Default: true.
   */
  readonly exact?: boolean
}

/** The codec of Anthropic Messages. */
export interface AnthropicCodec extends Codec<AnthropicConversation> {
  /** Write a settled conversation as a request carries it. */
  readonly encode: Encode<AnthropicConversation, AnthropicEncodeOptions>
}

/**
 * Anthropic Messages: the `system` and `messages` of a request.
 *
 * Reads every block of the stable and the beta API: text with citations, images, documents, calls and results, thinking
 * and redacted thinking; server tools, their results and whatever else there is are carried. `cache_control` stays with
 * its block. The results of a turn become one tool message.
 *
 * Source  Anthropic API reference, Messages (2026-11)
 * @example
 * const { wire, losses } = anthropic.encode(mend(history.view()).messages)
 * await client.messages.create({ model, max_tokens, ...wire })
 */
export const anthropic: AnthropicCodec = Object.freeze({ format, decode, encode: encodeWith(encode) })
