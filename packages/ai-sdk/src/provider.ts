/** Providers of the AI SDK, for `modelFor`. */
import type { LanguageModel } from 'ai'
import type { ModelProvider } from 'indelible/run/kit'
import { aiSdkModel } from './model.ts'

/**
 * A provider of the AI SDK, to register under `google`, `ai_sdk` or any name. Its key is the provider's own business,
 * so `modelFor` asks for none.
 *
 * @param model makes a model of the AI SDK by its name
 * @example
 * const registry = { google: aiSdkProvider(createGoogleGenerativeAI({ apiKey })), ai_sdk: aiSdkProvider((name) => name) }
 */
export const aiSdkProvider = (model: (name: string) => LanguageModel): ModelProvider =>
  Object.freeze({ apiKey: '', model: (name: string) => aiSdkModel(model(name), { model: name }) })
