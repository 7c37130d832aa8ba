import type { Codec } from 'indelible/codecs'
import { decode } from './decode.ts'
import { encode } from './encode.ts'
import { format, uiFormat } from './format.ts'
import { decodeUi } from './ui-decode.ts'
import { encodeUi } from './ui-encode.ts'
import type { AiUiMessage } from './ui-wire.ts'
import type { AiModelMessage } from './wire.ts'

/**
 * Model messages of the AI SDK (`ai`): the input of `generateText` and `streamText`, and their `responseMessages`.
 *
 * Reads all parts and kinds of output. `URL` objects, bytes and undefined fields of live messages are read in their
 * JSON form, bytes as base64. Results carry their tool's name, taken from the call if the source format omits it.
 *
 * Source  `ai` 7.0.173
 * @example
 * const { wire, losses } = aiModelMessages.encode(mend(history.view()).messages)
 * await generateText({ model, messages: wire, allowSystemInMessages: true })
 */
export const aiModelMessages: Codec<AiModelMessage[]> = Object.freeze({ format, decode, encode })

/**
 * UI messages of the AI SDK (`ai`): what `useChat` holds and applications store.
 *
 * An assistant message holds a whole turn, and a tool part a call with its result. Reading splits
 * each step into an assistant message and its results; writing combines them again. A message
 * without an id gets one from its position, such as `msg-0`.
 *
 * Chats with waiting calls (for an approval, or with unfinished input) are written with `allow:
 * 'open-calls'`, each call in its last state.
 *
 * Source  `ai` 7.0.173, `convertToModelMessages`
 * @example
 * const { wire, losses } = aiUiMessages.encode(mend(history.view()).messages)
 * const chat = useChat({ messages: wire })
 */
export const aiUiMessages: Codec<AiUiMessage[]> = Object.freeze({
  format: uiFormat,
  decode: decodeUi,
  encode: encodeUi,
})
