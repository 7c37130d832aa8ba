import type { Codec } from 'indelible/codecs'
import { decode } from './decode.ts'
import { encode } from './encode.ts'
import { format } from './fields.ts'
import type { LangChainMessage } from './wire.ts'

/**
 * Messages of LangChain and LangGraph, as JSON.
 *
 * Reads constructors (`{ lc: 1, type: 'constructor', id, kwargs }`, the `JSON.stringify` form of messages, also found
 * in checkpoints), `{ type, data }` (from `mapChatMessagesToStoredMessages`), and flat fields with a `type`. Writes
 * constructors. An Anthropic call that is also among the blocks is read as one call.
 *
 * Source  `@langchain/core` 1.4.0, load/serializable and messages
 * @example
 * const { wire } = langchainMessages.encode(mend(history.view()).messages)
 * const messages = await Promise.all(wire.map((message) => load(JSON.stringify(message))))
 */
export const langchainMessages: Codec<LangChainMessage[]> = Object.freeze({ format, decode, encode })
