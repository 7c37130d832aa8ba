/** OpenAI, and the servers that speak its protocols, as a provider for `modelFor`. */
import { OpenAI, type ClientOptions } from 'openai'
import type { Model } from '../model.ts'
import type { ModelProvider } from '../model-for.ts'
import { openaiChatModel } from './chat.ts'
import { openaiResponsesModel } from './responses.ts'

/** The options of the client. `baseURL` is the address of a compatible server. */
export interface ProviderOptions extends Omit<ClientOptions, 'apiKey'> {
  /** The key. If it is undefined, `modelFor` gives `MissingKey`. */
  readonly apiKey: string | undefined
  /** Where to set the key, for the fault. Default: `OPENAI_API_KEY`. */
  readonly keyFrom?: string
  /** `responses`: the Responses API; `chat`: Chat Completions, as most compatible servers have it. Default: `responses`. */
  readonly api?: 'responses' | 'chat'
}

/**
 * OpenAI, or a server with one of its interfaces, as a provider for `modelFor`. If a server needs no key, give the empty
 * string.
 *
 * @param options the key, the interface and the client's options
 */
export const openaiProvider = ({
  apiKey,
  keyFrom = 'OPENAI_API_KEY',
  api = 'responses',
  ...options
}: ProviderOptions): ModelProvider => {
  const modelOf = api === 'chat' ? openaiChatModel : openaiResponsesModel
  // The client insists on a key; a server that wants none ignores it.
  const model = (name: string): Model => modelOf(new OpenAI({ ...options, apiKey: apiKey || 'none' }), { model: name })
  return Object.freeze({ apiKey, keyFrom, model })
}
