import type { Codec } from 'indelible/codecs'
import { decode } from './decode.ts'
import { encode } from './encode.ts'
import { format } from './items.ts'
import type { AgentsItem } from './wire.ts'

/**
 * Items of the OpenAI Agents SDK for JavaScript (`AgentInputItem`), as stored in its sessions and passed to its
 * runner. They resemble Responses items, with other names (`callId`, `providerData`, `function_call_result`).
 *
 * Consecutive assistant items become one message, so that parallel calls stay together; each result is a message.
 * Calls of functions, computers, shells and patches are `tool_call` parts. Every other item is carried raw.
 *
 * Source  openai/openai-agents-js, packages/agents-core/src/types/protocol.ts (0.20.0)
 * @example
 * const { wire, losses } = openaiAgents.encode(mend(history.view()).messages)
 * await run(agent, wire)
 */
export const openaiAgents: Codec<AgentsItem[]> = Object.freeze({ format, decode, encode })
