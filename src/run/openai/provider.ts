/** OpenAI, and the servers that speak its protocols, as providers for `modelFor`. */
import { OpenAI, type ClientOptions } from 'openai'
import type { ModelProvider } from '../model-for.ts'
import { openaiChatModel } from './chat.ts'
import { openaiResponsesModel } from './responses.ts'

/** The options of the client. `baseURL` is the address of a compatible server. */
export interface ProviderOptions extends Omit<ClientOptions, 'apiKey'> {
  /** The key. If it is undefined, `modelFor` gives `MissingKey`. */
  readonly apiKey: string | undefined
  /** Where to set the key, for the fault. Default: `OPENAI_API_KEY`. */
  readonly keyFrom?: string
}

/**
 * OpenAI, with its Responses API, as a provider for `modelFor`.
 *
 * @param options the key and the client's options
 * @returns the provider
 */
export const openaiProvider = (options: ProviderOptions): ModelProvider => provider(options, openaiResponsesModel)

/**
 * A server with the Chat Completions API as a provider for `modelFor`. If it needs no key, give the empty string.
 *
 * @param options the address, the key and the client's options
 * @returns the provider
 */
export const openaiCompatibleProvider = (options: ProviderOptions & { readonly baseURL: string }): ModelProvider =>
  provider(options, openaiChatModel)

/**
 * A server with the Responses API as a provider for `modelFor`. If it needs no key, give the empty string.
 *
 * @param options the address, the key and the client's options
 * @returns the provider
 */
export const openaiResponsesCompatibleProvider = (
  options: ProviderOptions & { readonly baseURL: string },
): ModelProvider => provider(options, openaiResponsesModel)

/** The client insists on a key; a server that wants none ignores it. */
const provider = (
  { apiKey, keyFrom = 'OPENAI_API_KEY', ...options }: ProviderOptions,
  modelOf: typeof openaiChatModel,
): ModelProvider =>
  Object.freeze({
    apiKey,
    keyFrom,
    model: (model: string) => modelOf(new OpenAI({ ...options, apiKey: apiKey || 'none' }), { model }),
  })
