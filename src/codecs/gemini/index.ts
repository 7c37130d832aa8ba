export { gemini, type GeminiCodec } from './codec.ts'
export { decodeResponse, type GeminiResponseOptions } from './decode.ts'

export { joinResponses } from './join.ts'
export type { GeminiEncodeOptions } from './encode.ts'
export type {
  GeminiBlob,
  GeminiContent,
  GeminiConversation,
  GeminiFileData,
  GeminiFunctionCall,
  GeminiFunctionResponse,
  GeminiPart,
} from './wire.ts'
