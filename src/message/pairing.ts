/** Pairing: which result answers which tool call. A request with a call that has no result is refused by every provider. */
import { emptyList, filterEach, freeze, mapEach, OwnMap, setPrototypeOf } from '../json/index.ts'
import { itemAt, type Sequence } from '../sequence/index.ts'
import type { Message, ToolCallPart, ToolResultPart } from './message.ts'

/** A tool call, and where it was made: the position of its message and the index of the part in it. */
export interface OpenCall {
  /** The id of the call. */
  readonly id: string
  /** The name of the tool. */
  readonly name: string
  /** The position of its message. */
  readonly position: number
  /** The index of the part in the message. */
  readonly part: number
}

/** A tool call with the place of its answer, if it has one. */
export interface PairedCall extends OpenCall {
  /** The call itself. */
  readonly call: ToolCallPart
  /** The result and its place; undefined if the call has none. */
  readonly answer: { readonly position: number; readonly part: number; readonly result: ToolResultPart } | undefined
}

/**
 * Pair every tool call with its result. A result belongs to the latest earlier call with its id that has no result yet,
 * so
 * an id that is used again is a new call.
 *
 * Cost    one pass, O(parts)
 *
 * @param messages the conversation
 * @returns the calls, in the order in which they were made
 */
export const pairCalls = (messages: Sequence<Message>): readonly PairedCall[] => {
  const calls = emptyList<PairedCall>()
  const unanswered = new OwnMap<string, number[]>()
  const { length } = messages
  for (let position = 0; position < length; position++) {
    const { content } = itemAt(messages, position)
    for (let part = 0; part < content.length; part++) {
      const found = content[part]
      if (found?.type === 'tool_call') {
        const same = unanswered.get(found.id)
        if (same === undefined) unanswered.set(found.id, setPrototypeOf([calls.length], null))
        else same[same.length] = calls.length
        calls[calls.length] = { id: found.id, name: found.name, position, part, call: found, answer: undefined }
      } else if (found?.type === 'tool_result') {
        const waiting = unanswered.get(found.callId)
        if (waiting === undefined || waiting.length === 0) continue
        const index = waiting[waiting.length - 1] as number
        waiting.length -= 1
        calls[index] = { ...(calls[index] as PairedCall), answer: { position, part, result: found } }
      }
    }
  }
  return mapEach(calls, (call) => freeze(call))
}

/**
 * The tool calls without a later result. Cost: one pass, O(parts).
 *
 * @param messages the conversation
 * @returns the calls, in the order in which they were made
 */
export const openCalls = (messages: Sequence<Message>): readonly OpenCall[] =>
  mapEach(
    filterEach(pairCalls(messages), ({ answer }) => answer === undefined),
    ({ id, name, position, part }) => freeze({ id, name, position, part }),
  )
