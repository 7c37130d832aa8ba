/** Erased messages: what stands in a record where content was erased, and what is sent in its place. */
import { emptyList, freeze, mapEach } from '../json/index.ts'
import { text } from './construct.ts'
import type { ErasedPart, Message, Part, ToolCallPart, ToolResultPart } from './message.ts'

/** What models and people read where content was erased. */
export const erasedMark = '[erased]'

/**
 * The message that stands for an erased one: its role, and the ids of its calls and results.
 *
 * @param message the message to erase
 * @returns the stub, frozen: parts of the type `erased` only
 */
export const erasedMessage = ({ role, content }: Pick<Message, 'role' | 'content'>): Message => {
  const parts = emptyList<ErasedPart>()
  for (let index = 0; index < content.length; index++) {
    const part = erasedPart(content[index] as Part)
    const before = parts[parts.length - 1]
    if (part === plain && before === plain) continue // how many parts it had is content, too
    parts[parts.length] = part
  }
  return freeze({ role, content: freeze(parts.length === 0 ? [plain] : mapEach(parts, (part) => part)) })
}

const plain: ErasedPart = freeze({ type: 'erased' })

const erasedPart = (part: Part): ErasedPart => {
  if (part.type === 'erased') return part
  if (part.type === 'tool_call') return freeze({ type: 'erased', id: part.id })
  return part.type === 'tool_result' ? freeze({ type: 'erased', callId: part.callId }) : plain
}

/**
 * Whether a message was erased.
 *
 * @param message a message
 * @returns true if it has a part of the type `erased`
 */
export const isErased = ({ content }: Pick<Message, 'content'>): boolean => {
  for (let index = 0; index < content.length; index++) if (content[index]?.type === 'erased') return true
  return false
}

/** The part as one of the types that every format has: a call without arguments, a result or a text that says it was erased. */
export const standInOf = (part: ErasedPart): ToolCallPart | ToolResultPart | Part => {
  if (part.id !== undefined) return freeze({ type: 'tool_call', id: part.id, name: 'erased', arguments: '{}' })
  return part.callId === undefined
    ? text(erasedMark)
    : freeze({ type: 'tool_result', callId: part.callId, content: freeze([text(erasedMark)]) })
}

/**
 * An erased message as models and other formats take it: texts and results that say `[erased]`, and calls of a tool `erased`
 * with the ids of the calls that were made.
 *
 * @param message any message
 * @returns the message itself if nothing of it was erased
 */
export const standIn = (message: Message): Message =>
  isErased(message)
    ? freeze({
        ...message,
        content: mapEach(message.content, (part) => (part.type === 'erased' ? standInOf(part) : part)),
      })
    : message
