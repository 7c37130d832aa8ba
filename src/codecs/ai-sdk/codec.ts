import { encodeWith } from '../allow.ts'
import type { Codec } from '../codec.ts'
import { decode } from './decode.ts'
import { encode } from './encode.ts'
import { format, uiFormat } from './format.ts'
import { decodeUi } from './ui-decode.ts'
import { encodeUi } from './ui-encode.ts'
import type { AiUiMessage } from './ui-wire.ts'
import type { AiModelMessage } from './wire.ts'

/**
 * Model messages of the AI SDK (`ai`): what `generateText` and `streamText` take, and give back in `responseMessages`.
 *
 * Reads every part and kind of output; `URL` objects, bytes and undefined fields of live messages too, in the form that
 * they have as JSON, bytes as base64. Results carry the name of their tool, taken from the call where another format
 * leaves it out.
 *
 * Source  `ai` 7.0.173
 * @example
 * const { wire, losses } = aiModelMessages.encode(mend(history.view()).messages)
 * await generateText({ model, messages: wire, allowSystemInMessages: true })
 */
export const aiModelMessages: Codec<AiModelMessage[]> = Object.freeze({ format, decode, encode: encodeWith(encode) })

/**
 * UI messages of the AI SDK (`ai`): what `useChat` holds and applications store.
 *
 * A message of the assistant holds a whole turn, and a tool part a call with its result: reading makes of each step what
 * the assistant says and then the results, writing gathers them again. A message without an id gets one by its position
 * in the conversation, `msg-0`.
 *
 * Chats with calls that wait (for an approval, for the rest of their input) are written with `allow: 'open-calls'`, each
 * call in the state that it was left in.
 *
 * Source  `ai` 7.0.173, `convertToModelMessages`
 * @example
 * const { wire, losses } = aiUiMessages.encode(mend(history.view()).messages)
 * const chat = useChat({ messages: wire })
 */
export const aiUiMessages: Codec<AiUiMessage[]> = Object.freeze({
  format: uiFormat,
  decode: decodeUi,
  encode: encodeWith(encodeUi),
})
