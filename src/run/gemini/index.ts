export { geminiModel, type GeminiOptions } from './model.ts'
export { geminiProvider, type GeminiProviderOptions } from './provider.ts'
