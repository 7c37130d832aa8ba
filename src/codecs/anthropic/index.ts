export { anthropic } from './codec.ts'
export { decodeResponse } from './decode.ts'
export type { AnthropicEncodeOptions } from './encode.ts'
export type { AnthropicConversation } from './wire.ts'
