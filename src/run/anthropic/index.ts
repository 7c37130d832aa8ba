export { anthropicModel, type AnthropicOptions } from './model.ts'
export { anthropicCompatibleProvider, anthropicProvider, type AnthropicProviderOptions } from './provider.ts'
