/** OpenAI, and the servers that speak its protocols, as providers for `modelFor`. */
import { OpenAI, type ClientOptions } from 'openai'
import type { ModelProvider } from '../model-for.ts'
import { openaiChatModel } from './chat.ts'
import { openaiResponsesModel } from './responses.ts'

/** What the client takes. `baseURL` is where a compatible server is. */
export interface ProviderOptions extends Omit<ClientOptions, 'apiKey'> {
  /** Undefined, where none was found: `modelFor` says so. */
  readonly apiKey: string | undefined
  /** Where to set the key, told where it is missing. Default: `OPENAI_API_KEY`. */
  readonly keyFrom?: string
}

/** OpenAI itself, by Responses. */
export const openaiProvider = (options: ProviderOptions): ModelProvider => provider(options, openaiResponsesModel)

/** A server that speaks Chat Completions. A server that wants no key gets the empty string. */
export const openaiCompatibleProvider = (options: ProviderOptions & { readonly baseURL: string }): ModelProvider =>
  provider(options, openaiChatModel)

/** A server that speaks Responses. */
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
