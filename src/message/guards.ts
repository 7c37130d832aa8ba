/** Predicates and accessors for well-formed messages and parts. Use `decodeMessage` for unknown data. */
import { describe, isArray } from '../json/index.ts'
import type { Message, Part, Role, TextPart, ToolCallPart, ToolResultPart } from './message.ts'

export const roles: readonly Role[] = Object.freeze(['system', 'developer', 'user', 'assistant', 'tool'] as const)

/**
 * Whether a value is a role.
 *
 * @param value any value
 * @returns true for one of `roles`
 */
export const isRole = (value: unknown): value is Role =>
  value === 'system' || value === 'developer' || value === 'user' || value === 'assistant' || value === 'tool'

/**
 * Whether a part is text.
 *
 * @returns true for a text part
 */
export const isText = (part: Part): part is TextPart => typeOf('isText', part) === 'text'
/**
 * Whether a part is a tool call.
 *
 * @returns true for a tool call
 */
export const isToolCall = (part: Part): part is ToolCallPart => typeOf('isToolCall', part) === 'tool_call'
/**
 * Whether a part is a tool result.
 *
 * @returns true for a tool result
 */
export const isToolResult = (part: Part): part is ToolResultPart => typeOf('isToolResult', part) === 'tool_result'

/** The type of a part. Throws TypeError for a value without properties. */
const typeOf = (call: string, part: Part): Part['type'] => {
  if (part === undefined || part === null)
    throw new TypeError(`${call} takes a part of a message, found ${describe(part)}`)
  return part.type
}

/** The parts of a message. Throws TypeError for another value, which the compiler would have rejected. */
export const contentOf = (call: string, message: Pick<Message, 'content'>): readonly Part[] => {
  const content: unknown = (message as Message | null | undefined)?.content
  if (!isArray(content)) throw new TypeError(`${call} takes a message, found ${describe(message)}`)
  return message.content
}

/**
 * Whether a message was erased.
 *
 * @returns true if it has an `erased` part
 */
export const isErased = (message: Pick<Message, 'content'>): boolean => {
  for (const { type } of contentOf('isErased', message)) if (type === 'erased') return true
  return false
}

/**
 * The text parts of a message, joined without a separator; of a tool message, those of its results.
 *
 * @returns the text; empty if there is none
 */
export const textOf = (message: Message): string => {
  let text = ''
  for (const part of contentOf('textOf', message))
    if (part.type === 'text') text += part.text
    else if (part.type === 'tool_result' && message.role === 'tool')
      for (const inner of part.content) if (inner.type === 'text') text += inner.text
  return text
}

/**
 * The tool calls of a message.
 *
 * @returns the calls, in order
 */
export const toolCallsOf = (message: Message): readonly ToolCallPart[] =>
  Object.freeze(contentOf('toolCallsOf', message).filter(isToolCall))

/**
 * The tool results of a message.
 *
 * @returns the results, in order
 */
export const toolResultsOf = (message: Message): readonly ToolResultPart[] =>
  Object.freeze(contentOf('toolResultsOf', message).filter(isToolResult))
