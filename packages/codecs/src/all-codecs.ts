/** Every codec, by the name of its format: the providers', which the library has, and the frameworks'. */
import { codecs, type Codec, type Codecs } from 'indelible/codecs'
import { aiModelMessages, aiUiMessages } from './ai-sdk/codec.ts'
import type { AiUiMessage } from './ai-sdk/ui-wire.ts'
import type { AiModelMessage } from './ai-sdk/wire.ts'
import { langchainMessages } from './langchain/codec.ts'
import type { LangChainMessage } from './langchain/wire.ts'
import { openaiAgents } from './openai-agents/codec.ts'
import type { AgentsItem } from './openai-agents/wire.ts'

/** The codecs of providers and frameworks by format name. */
export interface AllCodecs extends Codecs {
  /** Model messages of the AI SDK. */
  readonly 'ai-sdk': Codec<AiModelMessage[]>
  /** UI messages of the AI SDK. */
  readonly 'ai-sdk-ui': Codec<AiUiMessage[]>
  /** LangChain messages as JSON. */
  readonly langchain: Codec<LangChainMessage[]>
  /** OpenAI Agents SDK items. */
  readonly 'openai-agents': Codec<AgentsItem[]>
}

/** All codecs by format name. */
export const allCodecs: AllCodecs = Object.freeze({
  'ai-sdk': aiModelMessages,
  'ai-sdk-ui': aiUiMessages,
  anthropic: codecs.anthropic,
  gemini: codecs.gemini,
  langchain: langchainMessages,
  'openai-agents': openaiAgents,
  'openai-chat': codecs['openai-chat'],
  'openai-responses': codecs['openai-responses'],
})
