import type { Codec } from '../codec.ts'
import { decode, format } from './decode.ts'
import { encode } from './encode.ts'
import type { ResponsesItem } from './wire.ts'

/**
 * Items of the OpenAI Responses API: `input` of requests and `output` of responses.
 *
 * Consecutive assistant items (messages, reasoning, calls, actions of OpenAI's own tools) become one message, so that
 * parallel calls stay together; each result is a message. All calls answered by the client are `tool_call` and
 * `tool_result` parts: functions, custom tools, computer, shell, apply_patch, tool search, and MCP approvals, where
 * an error result is a denial. Every other item is carried raw: in its own message if a client wrote it (it has a
 * role or a client-only type), otherwise among the assistant's parts.
 *
 * `decode` also takes the text of one user message, a response body (its `output`) and a request body (its
 * `instructions`, as a system message, and its `input`). `encode` always writes a list of items.
 *
 * Source  OpenAI API reference, Responses (2026-11)
 * @example
 * const { wire, losses } = openaiResponses.encode(mend(history.view()).messages)
 */
export const openaiResponses: Codec<ResponsesItem[]> = Object.freeze({ format, decode, encode })
