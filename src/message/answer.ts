/** Messages that are made of an answer: what is recorded of one that was cut, and the results of its calls. */
import { text } from './construct.ts'
import { decodeMessage } from './decode.ts'
import { hasOwn, isLeft, isObject, ownField, type JsonObject } from '../json/index.ts'
import type { Message, Meta, Part, ToolCallPart, ToolResultPart } from './message.ts'

/** What a marked answer ends with, for the model to read; `meta.indelible.interrupted` says it to programs. */
export const interruptedMark = '[interrupted]'

/**
 * What is recorded of an answer that was cut: whole parts, and text as far as it came. Reasoning alone is no answer:
 * providers refuse it without the text or the calls that it led to.
 *
 * @param parts  the parts in order; a string is text that was still streaming
 * @param marked whether people and models can read that it was cut
 * @returns undefined, if nothing is left
 */
export const cutAnswer = (parts: readonly (Part | string)[], marked: boolean): Message | undefined => {
  const whole = parts.flatMap((part): readonly Part[] => {
    if (typeof part !== 'string') return [part]
    return part === '' ? [] : [text(part.toWellFormed())]
  })
  const content = whole.some(({ type }) => type !== 'reasoning') ? whole : []
  if (!marked) return content.length === 0 ? undefined : { role: 'assistant', content }
  return { role: 'assistant', content: withMark(content), meta: { indelible: { interrupted: true } } }
}

/** The mark stands after the last text, so before the calls: some formats say all text before calls. */
const withMark = (parts: readonly Part[]): readonly Part[] => {
  const last = parts.findLastIndex(({ type }) => type === 'text')
  const at = last === -1 ? parts.filter(({ type }) => type === 'reasoning').length : last + 1
  const before = parts[last]
  const spaced = before?.type !== 'text' || /\s$/.test(before.text)
  return [...parts.slice(0, at), text(spaced ? interruptedMark : ` ${interruptedMark}`), ...parts.slice(at)]
}

/** The messages of the results of one step: one message of all of them (`together`), or one for each. Frozen. */
export const resultMessages = (results: readonly ToolResultPart[], together: boolean): readonly Message[] => {
  if (results.length === 0) return []
  const message = (content: readonly ToolResultPart[]): Message =>
    Object.freeze({ role: 'tool', content: Object.freeze([...content]) })
  return together ? [message(results)] : results.map((result) => message([result]))
}

/**
 * The call with an id of its own. Some models number their calls anew in every answer, and providers refuse a record with
 * two calls of one id.
 *
 * @param part the call
 * @param callIds the ids that there are; that of the call is added
 * @returns the call itself, or one with a number behind its id, and the old one in `meta.indelible.callId`
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
        meta: Object.freeze({ ...withoutItemIds(part.meta), indelible: { callId: part.id } }),
      })
}

/** What codecs kept with a call, but for the id of the item that it came in: that is used before, too. */
const withoutItemIds = (meta: Meta = {}): Meta =>
  Object.fromEntries(
    Object.entries(meta).map(([name, kept]) => {
      if (!isObject(kept) || !isObject(kept['fields'])) return [name, kept]
      const { id: _, ...fields } = kept['fields']
      return [name, { ...kept, fields }]
    }),
  )

/** The calls of an answer that wait for us, in order: not those that the provider has answered in the same message. */
export const callsOf = ({ content }: Message): readonly ToolCallPart[] => {
  const answered = new Set(content.flatMap((part) => (part.type === 'tool_result' ? [part.callId] : [])))
  return Object.freeze(
    content.filter((part): part is ToolCallPart => part.type === 'tool_call' && !answered.has(part.id)),
  )
}

/** What this library notes of a message, under `meta.indelible`. */
export const oursIn = (message: Partial<Message>): JsonObject => {
  const meta = ownField(message, 'meta')
  const ours = meta && ownField(meta, 'indelible')
  return isObject(ours) ? ours : {}
}

/** Whether an answer was cut. */
export const isCut = (message: Message): boolean => hasOwn(oursIn(message), 'interrupted')

/** A value as a message; undefined if it is not one. */
export const messageIn = (value: unknown): Message | undefined => {
  const decoded = decodeMessage(value)
  return isLeft(decoded) ? undefined : decoded.right
}
