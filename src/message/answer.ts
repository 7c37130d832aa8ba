/** Builds messages from a model's answer: the kept part of an interrupted answer, and the results of its calls. */
import { text } from './construct.ts'
import { decodeMessage } from './decode.ts'
import { isLeft } from '../either/index.ts'
import { isObject, ownField, type JsonObject } from '../json/index.ts'
import type { Message, Meta, Part, ToolCallPart, ToolResultPart } from './message.ts'

/** The end of a marked answer, for the model; `meta.indelible.interrupted` is the mark for programs. */
const interruptedMark = '[interrupted]'

/**
 * The recorded form of an interrupted answer: complete parts, and text so far. Reasoning alone is
 * dropped, because providers reject it without the text or calls that it led to. An answer that was interrupted before
 * its first text or call has no message: nobody said anything, so a mark alone would be invented.
 *
 * @param parts  the parts in order; a string is text that was still streaming
 * @param marked whether to add a mark that people and models can read
 * @returns the message; undefined if nothing is left
 */
export const cutAnswer = (parts: readonly (Part | string)[], marked: boolean): Message | undefined => {
  const whole = parts.flatMap((part): readonly Part[] => {
    if (typeof part !== 'string') return [part]
    return part === '' ? [] : [text(part.toWellFormed())]
  })
  if (!whole.some(({ type }) => type !== 'reasoning')) return undefined
  if (!marked) return { role: 'assistant', content: whole }
  return { role: 'assistant', content: withMark(whole), meta: { indelible: { interrupted: true } } }
}

/** Adds the mark after the last text and so before the calls, because some formats put all text before calls. */
const withMark = (parts: readonly Part[]): readonly Part[] => {
  const last = parts.findLastIndex(({ type }) => type === 'text')
  const at = last === -1 ? parts.filter(({ type }) => type === 'reasoning').length : last + 1
  const before = parts[last]
  const spaced = before?.type !== 'text' || /\s$/.test(before.text)
  return [...parts.slice(0, at), text(spaced ? interruptedMark : ` ${interruptedMark}`), ...parts.slice(at)]
}

/** The messages for one step's results: one message with all of them (`together`), or one per result. Frozen. */
export const resultMessages = (results: readonly ToolResultPart[], together: boolean): readonly Message[] => {
  if (results.length === 0) return []
  const message = (content: readonly ToolResultPart[]): Message =>
    Object.freeze({ role: 'tool', content: Object.freeze([...content]) })
  return together ? [message(results)] : results.map((result) => message([result]))
}

/**
 * The call with a unique id. Some models restart numbering in every answer, and providers reject a record with two
 * calls of the same id.
 *
 * @param part the call
 * @param callIds the ids in use; the call's id is added
 * @returns the call itself, or a copy with a number appended to its id and the old id in `meta.indelible.callId`
 */
export const withOwnCallId = (part: ToolCallPart, callIds: Set<string>): ToolCallPart => {
  let { id } = part
  for (let count = 2; callIds.has(id); count++) id = `${part.id}_${count}`
  callIds.add(id)
  return id === part.id
    ? part
    : Object.freeze({
        ...part,
        id,
        meta: Object.freeze({ ...withoutItemIds(ownField(part, 'meta')), indelible: { callId: part.id } }),
      })
}

/** Data kept by codecs, without the id of the call's item, which would be a duplicate as well. */
const withoutItemIds = (meta: Meta = {}): Meta =>
  Object.fromEntries(
    Object.entries(meta).map(([name, kept]) => {
      const wire = isObject(kept) ? ownField(kept, 'fields') : undefined
      if (!isObject(kept) || !isObject(wire)) return [name, kept]
      const { id: _, ...fields } = wire
      return [name, { ...kept, fields }]
    }),
  )

/** An answer's calls that wait for results, in order, without those that the provider answered in the same message. */
export const callsOf = ({ content }: Message): readonly ToolCallPart[] => {
  const answered = new Set(content.flatMap((part) => (part.type === 'tool_result' ? [part.callId] : [])))
  return Object.freeze(
    content.filter((part): part is ToolCallPart => part.type === 'tool_call' && !answered.has(part.id)),
  )
}

/** The library's own data about a message, under `meta.indelible`. */
export const indelibleMetaOf = (message: { readonly meta?: Meta | undefined }): JsonObject => {
  const meta = ownField(message, 'meta')
  const ours = meta && ownField(meta, 'indelible')
  return isObject(ours) ? ours : {}
}

/** Whether an answer was interrupted. */
export const isCut = (message: Message): boolean => Object.hasOwn(indelibleMetaOf(message), 'interrupted')

/** A value as a message; undefined if it is not one. */
export const messageIn = (value: unknown): Message | undefined => {
  const decoded = decodeMessage(value)
  return isLeft(decoded) ? undefined : decoded.right
}
