export { anthropicModel, type AnthropicOptions } from './model.ts'
export { anthropicProvider, type AnthropicProviderOptions } from './provider.ts'
