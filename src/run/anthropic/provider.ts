/** Anthropic, and the servers that speak its protocol, as providers for `modelFor`. */
import { Anthropic, type ClientOptions } from '@anthropic-ai/sdk'
import type { ModelProvider } from '../model-for.ts'
import { anthropicModel, type AnthropicOptions } from './model.ts'

/** What the client takes. `baseURL` is where a compatible server is. */
export interface AnthropicProviderOptions
  extends Omit<ClientOptions, 'apiKey'>, Pick<AnthropicOptions, 'maxTokens' | 'cache'> {
  /** Undefined, where none was found: `modelFor` says so. */
  readonly apiKey: string | undefined
  /** Where to set the key, told where it is missing. Default: `ANTHROPIC_API_KEY`. */
  readonly keyFrom?: string
}

/** Anthropic itself. */
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
        ...(maxTokens !== undefined && { maxTokens }),
        ...(cache !== undefined && { cache }),
      }),
  })

/** A server that speaks Messages. A server that wants no key gets the empty string. */
export const anthropicCompatibleProvider = (
  options: AnthropicProviderOptions & { readonly baseURL: string },
): ModelProvider => anthropicProvider(options)
