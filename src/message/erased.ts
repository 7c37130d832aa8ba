/** Erased messages: their form in the record, and the form in which they are sent. */
import { emptyList, freeze, mapEach } from '../json/index.ts'
import { text } from './construct.ts'
import { contentOf } from './guards.ts'
import type { ErasedPart, Message, Part, TextPart, ToolCallPart, ToolResultPart } from './message.ts'

/** The text that models and people see in place of erased content. */
export const erasedMark = '[erased]'

/**
 * The stub for an erased message: its role, and the ids of its calls and results.
 *
 * @returns the stub, frozen, with `erased` parts only
 */
export const erasedMessage = ({ role, content }: Pick<Message, 'role' | 'content'>): Message => {
  const parts = emptyList<ErasedPart>()
  for (let index = 0; index < content.length; index++) {
    const part = erasedPart(content[index] as Part)
    const before = parts[parts.length - 1]
    if (part === plain && before === plain) continue // the number of parts is content, too
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
 * @returns true if it has an `erased` part
 */
export const isErased = (message: Pick<Message, 'content'>): boolean => {
  const content = contentOf('isErased', message)
  for (let index = 0; index < content.length; index++) if (content[index]?.type === 'erased') return true
  return false
}

/** A part other than a stub. */
export type UnerasedPart = Exclude<Part, ErasedPart>

/** A message without stubs. */
export interface UnerasedMessage extends Message {
  readonly content: readonly UnerasedPart[]
}

/** The part as a type that every format has: a call without arguments, or a result or text that says it was erased. */
export const erasedTextPart = (part: ErasedPart): ToolCallPart | ToolResultPart | TextPart => {
  if (part.id !== undefined) return freeze({ type: 'tool_call', id: part.id, name: 'erased', arguments: '{}' })
  return part.callId === undefined
    ? text(erasedMark)
    : freeze({ type: 'tool_result', callId: part.callId, content: freeze([text(erasedMark)]) })
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
    ? freeze({
        ...message,
        content: mapEach(message.content, (part) => (part.type === 'erased' ? erasedTextPart(part) : part)),
      })
    : (message as UnerasedMessage)
