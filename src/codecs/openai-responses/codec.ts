import { encodeWith } from '../allow.ts'
import type { Codec } from '../codec.ts'
import { decode, format } from './decode.ts'
import { encode } from './encode.ts'
import type { ResponsesItem } from './wire.ts'

/**
 * Items of the OpenAI Responses API: what requests carry in `input`, and what responses bring in `output`.
 *
 * Everything that the assistant says in a row (messages, reasoning, calls, what OpenAI's own tools did) is one message,
 * so that parallel calls stand together; each result is a message. Calls that the client answers are `tool_call` and
 * `tool_result` parts whatever their kind: functions, custom tools, computer, shell, apply_patch, tool search, and the
 * approval of an MCP call, whose error result is a denial. Every other item is carried raw: in a message of its own, if a
 * client wrote it (it has a role, or is known to be of clients), else among what the assistant said.
 *
 * `decode` also takes the text of one user message, the body of a response (its `output`) and that of a request (its
 * `instructions`, as a system message, and its `input`); `encode` always writes the list of items.
 *
 * Source  OpenAI API reference, Responses (2026-11)
 * @example
 * const { wire, losses } = openaiResponses.encode(mend(history.view()).messages)
 */
export const openaiResponses: Codec<ResponsesItem[]> = Object.freeze({ format, decode, encode: encodeWith(encode) })
