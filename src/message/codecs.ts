/** Every codec, by the name of its format. */
import type { Codec } from './codec.ts'
import { openaiChat } from './openai-chat/codec.ts'
import type { ChatMessage } from './openai-chat/wire.ts'

export interface Codecs {
  readonly 'openai-chat': Codec<ChatMessage[]>
}

/** A format that a codec reads and writes. */
export type CodecFormat = keyof Codecs

export const codecs: Codecs = Object.freeze({
  'openai-chat': openaiChat,
})
