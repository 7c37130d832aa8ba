export { anthropicModel, type AnthropicOptions } from './model.ts'
