/** Pairing: which result answers which tool call. A request with a call that has no result is refused by every provider. */
import type { Sequence } from '../sequence/index.ts'
import type { Message, ToolCallPart, ToolResultPart } from './message.ts'

/** A tool call, and where it was made: the position of its message and the index of the part in it. */
export interface OpenCall {
  readonly id: string
  readonly name: string
  readonly position: number
  readonly part: number
}

/** A tool call with the place of its answer, if it has one. */
export interface PairedCall extends OpenCall {
  readonly call: ToolCallPart
  readonly answer: { readonly position: number; readonly part: number; readonly result: ToolResultPart } | undefined
}

/**
 * Every tool call with its answer, in the order in which the calls were made. A result answers the latest earlier call
 * with its id that has none yet, so an id that is used again is a call of its own.
 *
 * Cost    one pass, O(parts)
 */
export const pairCalls = (messages: Sequence<Message>): readonly PairedCall[] => {
  const calls: PairedCall[] = []
  const unanswered = new Map<string, number[]>()
  let position = 0
  for (const { content } of messages) {
    for (let part = 0; part < content.length; part++) {
      const found = content[part]
      if (found?.type === 'tool_call') {
        const same = unanswered.get(found.id)
        if (same === undefined) unanswered.set(found.id, [calls.length])
        else same.push(calls.length)
        calls.push({ id: found.id, name: found.name, position, part, call: found, answer: undefined })
      } else if (found?.type === 'tool_result') {
        const index = unanswered.get(found.callId)?.pop()
        if (index !== undefined)
          calls[index] = { ...(calls[index] as PairedCall), answer: { position, part, result: found } }
      }
    }
    position += 1
  }
  return Object.freeze(calls.map((call) => Object.freeze(call)))
}

/** The calls that no later result answers, in the order in which they were made. Cost: one pass, O(parts). */
export const openCalls = (messages: Sequence<Message>): readonly OpenCall[] =>
  Object.freeze(
    pairCalls(messages)
      .filter(({ answer }) => answer === undefined)
      .map(({ id, name, position, part }) => Object.freeze({ id, name, position, part })),
  )
