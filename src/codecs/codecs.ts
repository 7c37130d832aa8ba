/** Every codec, by the name of its format. */
import { aiModelMessages, aiUiMessages } from './ai-sdk/codec.ts'
import type { AiUiMessage } from './ai-sdk/ui-wire.ts'
import type { AiModelMessage } from './ai-sdk/wire.ts'
import { anthropic } from './anthropic/codec.ts'
import type { AnthropicConversation } from './anthropic/wire.ts'
import type { Codec } from './codec.ts'
import { gemini } from './gemini/codec.ts'
import type { GeminiConversation } from './gemini/wire.ts'
import { langchainMessages } from './langchain/codec.ts'
import type { LangChainMessage } from './langchain/wire.ts'
import { openaiAgents } from './openai-agents/codec.ts'
import type { AgentsItem } from './openai-agents/wire.ts'
import { openaiChat } from './openai-chat/codec.ts'
import type { ChatMessage } from './openai-chat/wire.ts'
import { openaiResponses } from './openai-responses/codec.ts'
import type { ResponsesItem } from './openai-responses/wire.ts'

/** The codecs by format name. */
export interface Codecs {
  /** Model messages of the AI SDK. */
  readonly 'ai-sdk': Codec<AiModelMessage[]>
  /** UI messages of the AI SDK. */
  readonly 'ai-sdk-ui': Codec<AiUiMessage[]>
  /** Anthropic Messages. */
  readonly anthropic: Codec<AnthropicConversation>
  /** Gemini contents. */
  readonly gemini: Codec<GeminiConversation>
  /** LangChain messages as JSON. */
  readonly langchain: Codec<LangChainMessage[]>
  /** OpenAI Agents SDK items. */
  readonly 'openai-agents': Codec<AgentsItem[]>
  /** OpenAI Chat Completions. */
  readonly 'openai-chat': Codec<ChatMessage[]>
  /** OpenAI Responses items. */
  readonly 'openai-responses': Codec<ResponsesItem[]>
}

/** The name of a codec's format. */
export type CodecFormat = keyof Codecs

/** All codecs by format name. */
export const codecs: Codecs = Object.freeze({
  'ai-sdk': aiModelMessages,
  'ai-sdk-ui': aiUiMessages,
  anthropic,
  gemini,
  langchain: langchainMessages,
  'openai-agents': openaiAgents,
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
})
