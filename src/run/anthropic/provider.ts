/** Anthropic, and the servers that speak its protocol, as a provider for `modelFor`. */
import { present } from '../../json/index.ts'
import { Anthropic, type ClientOptions } from '@anthropic-ai/sdk'
import type { ModelProvider } from '../model-for.ts'
import { anthropicModel, type AnthropicOptions } from './model.ts'

/** The options of the client. `baseURL` is the address of a compatible server. */
export interface AnthropicProviderOptions
  extends Omit<ClientOptions, 'apiKey'>, Pick<AnthropicOptions, 'maxTokens' | 'cache'> {
  /** The key. If it is undefined, `modelFor` gives `MissingKey`. */
  readonly apiKey: string | undefined
  /** Where to set the key, for the fault. Default: `ANTHROPIC_API_KEY`. */
  readonly keyFrom?: string
}

/**
 * Anthropic, or a server with the Messages API, as a provider for `modelFor`. If a server needs no key, give the empty string.
 */
export const anthropicProvider = ({
  apiKey,
  keyFrom = 'ANTHROPIC_API_KEY',
  maxTokens,
  cache,
  ...options
}: AnthropicProviderOptions): ModelProvider =>
  Object.freeze({
    apiKey,
    keyFrom,
    model: (model: string) =>
      anthropicModel(new Anthropic({ ...options, apiKey: apiKey ?? '' }), {
        model,
        ...present({ maxTokens, cache }),
      }),
  })
