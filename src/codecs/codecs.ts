/** The providers' codecs, by the name of their format. */
import { anthropic } from './anthropic/codec.ts'
import type { AnthropicConversation } from './anthropic/wire.ts'
import type { Codec } from './codec.ts'
import { gemini } from './gemini/codec.ts'
import type { GeminiConversation } from './gemini/wire.ts'
import { openaiChat } from './openai-chat/codec.ts'
import type { ChatMessage } from './openai-chat/wire.ts'
import { openaiResponses } from './openai-responses/codec.ts'
import type { ResponsesItem } from './openai-responses/wire.ts'

/** The codecs of providers by format name. */
export interface Codecs {
  /** Anthropic Messages. */
  readonly anthropic: Codec<AnthropicConversation>
  /** Gemini contents. */
  readonly gemini: Codec<GeminiConversation>
  /** OpenAI Chat Completions. */
  readonly 'openai-chat': Codec<ChatMessage[]>
  /** OpenAI Responses items. */
  readonly 'openai-responses': Codec<ResponsesItem[]>
}

/** The codecs of providers by format name. Those of frameworks are in `@indelible/codecs`. */
export const codecs: Codecs = Object.freeze({
  anthropic,
  gemini,
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
})
