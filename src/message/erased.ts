/** Erased messages: their form in the record, and the form in which they are sent. */
import { ownFields } from '../json/index.ts'
import { text } from './construct.ts'
import { isErased } from './guards.ts'
import type { ErasedPart, Message, Part, TextPart, ToolCallPart, ToolResultPart } from './message.ts'

/** The text that models and people see in place of erased content. */
export const erasedMark = '[erased]'

/**
 * The stub for an erased message: its role, and the ids of its calls and results.
 *
 * @returns the stub, frozen, with `erased` parts only
 */
export const erasedMessage = ({ role, content }: Pick<Message, 'role' | 'content'>): Message => {
  // Of plain parts in a row only one is kept: their number is content, too.
  const parts = content.map(erasedPart).filter((part, index, all) => part !== plain || all[index - 1] !== plain)
  return Object.freeze({ role, content: Object.freeze(parts.length === 0 ? [plain] : parts) })
}

const plain: ErasedPart = Object.freeze({ type: 'erased' })

const erasedPart = (part: Part): ErasedPart => {
  if (part.type === 'erased') return part
  if (part.type === 'tool_call') return Object.freeze({ type: 'erased', id: part.id })
  return part.type === 'tool_result' ? Object.freeze({ type: 'erased', callId: part.callId }) : plain
}

/** A part other than a stub. */
export type UnerasedPart = Exclude<Part, ErasedPart>

/** A message without stubs. */
export interface UnerasedMessage extends Message {
  readonly content: readonly UnerasedPart[]
}

/** The part as a type that every format has: a call without arguments, or a result or text that says it was erased. */
export const erasedTextPart = (part: ErasedPart): ToolCallPart | ToolResultPart | TextPart => {
  const { id, callId } = ownFields(part)
  if (id !== undefined) return Object.freeze({ type: 'tool_call', id, name: 'erased', arguments: '{}' })
  return callId === undefined
    ? text(erasedMark)
    : Object.freeze({ type: 'tool_result', callId, content: Object.freeze([text(erasedMark)]) })
}

/**
 * An erased message for models and other formats: texts and results with `[erased]`, and calls of a
 * tool named `erased` with the original call ids.
 *
 * @param message any message
 * @returns the message itself if nothing in it was erased
 */
export const withErasedText = (message: Message): UnerasedMessage =>
  isErased(message)
    ? Object.freeze({
        ...message,
        content: Object.freeze(message.content.map((part) => (part.type === 'erased' ? erasedTextPart(part) : part))),
      })
    : (message as UnerasedMessage)
