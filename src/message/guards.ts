/** Questions about messages and parts that are already known to be well-formed. For unknown data use `decodeMessage`. */
import type { BlockId, Message, Part, ReasoningPart, Role, TextPart, ToolCallPart, ToolResultPart } from './message.ts'

/** Every role. */
export const roles: readonly Role[] = Object.freeze(['system', 'developer', 'user', 'assistant', 'tool'] as const)

export const isRole = (value: unknown): value is Role =>
  typeof value === 'string' && roles.includes(value as Role)

export const isBlockId = (value: unknown): value is BlockId =>
  typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)

export const isText = (part: Part): part is TextPart => part.type === 'text'
export const isToolCall = (part: Part): part is ToolCallPart => part.type === 'tool_call'
export const isToolResult = (part: Part): part is ToolResultPart => part.type === 'tool_result'
export const isReasoning = (part: Part): part is ReasoningPart => part.type === 'reasoning'

/** The text parts of a message, one after the other, without anything between them. */
export const textOf = (message: Message): string => message.content.filter(isText).map(({ text }) => text).join('')

/** The calls a message makes, in order. */
export const toolCallsOf = (message: Message): readonly ToolCallPart[] => message.content.filter(isToolCall)

/** The results a message carries, in order. */
export const toolResultsOf = (message: Message): readonly ToolResultPart[] => message.content.filter(isToolResult)
