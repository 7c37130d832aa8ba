export { gemini } from './codec.ts'
export { decodeResponse } from './decode.ts'

export { joinResponses } from './join.ts'
export type { GeminiEncodeOptions } from './encode.ts'
export type { GeminiConversation } from './wire.ts'
