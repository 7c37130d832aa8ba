/** Google as a provider for `modelFor`. */
import { present } from '../../json/index.ts'
import { GoogleGenAI, type GoogleGenAIOptions } from '@google/genai'
import type { ModelProvider } from '../model-for.ts'
import { geminiModel, type GeminiOptions } from './model.ts'

/** The options of the client. */
export interface GeminiProviderOptions
  extends Omit<GoogleGenAIOptions, 'apiKey'>, Pick<GeminiOptions, 'skipSignatures'> {
  /** The key. If it is undefined, `modelFor` gives `MissingKey`. */
  readonly apiKey: string | undefined
  /** Where to set the key, for the fault. Default: `GEMINI_API_KEY`. */
  readonly keyFrom?: string
}

/** Google as a provider for `modelFor`, which knows it as `google`. */
export const geminiProvider = ({
  apiKey,
  keyFrom = 'GEMINI_API_KEY',
  skipSignatures,
  ...options
}: GeminiProviderOptions): ModelProvider =>
  Object.freeze({
    apiKey,
    keyFrom,
    model: (model: string) =>
      geminiModel(new GoogleGenAI({ ...options, apiKey: apiKey ?? '' }), {
        model,
        ...present({ skipSignatures }),
      }),
  })
