/** Pairing: matches results with tool calls. Every provider rejects a request with a call that has no result. */
import { describe } from '../json/index.ts'
import type { Sequence } from '../sequence/index.ts'
import { erasedTextPart } from './erased.ts'
import type { Message, ToolCallPart, ToolResultPart } from './message.ts'

/** A tool call and its place. */
export interface OpenCall {
  /** The call's id. */
  readonly id: string
  /** The tool's name. */
  readonly name: string
  /** The message's position. */
  readonly position: number
  /** The part's index in the message. */
  readonly part: number
}

/** A tool call, with the place of its result if it has one. */
export interface PairedCall extends OpenCall {
  /** The call itself. */
  readonly call: ToolCallPart
  /** The result and its place; `undefined` if there is none. */
  readonly answer: { readonly position: number; readonly part: number; readonly result: ToolResultPart } | undefined
}

export interface MetCall<Call, Answer> {
  /** The caller's data for the call. */
  readonly call: Call
  /** The caller's data for its result; undefined until there is one. */
  readonly answer: Answer | undefined
  /** Whether the result came before any other message. */
  readonly adjacent: boolean
}

/** A result's relation to the calls before it. */
type MetResult<Call, Answer> =
  | {
      /** It answers its call: in its turn, or `late`. */
      readonly type: 'answer' | 'late'
      readonly of: MetCall<Call, Answer>
    }
  | {
      /** Its call already has a result. */
      readonly type: 'second'
      readonly of: MetCall<Call, Answer>
      readonly first: Answer
    }
  | {
      /** No earlier call has its id. */
      readonly type: 'orphan'
    }

/** A walk over calls and results in order, whatever their form. */
interface Pairing<Call, Answer> {
  /**
   * Adds a call, in the item at a position. With an `answer`, its result is already known, and the
   * call does not wait. Returns the latest earlier call with its id, if any.
   */
  readonly call: (id: string, call: Call, position: number, answer?: Answer) => MetCall<Call, Answer> | undefined
  /**
   * Adds a result. It answers the first unanswered call with its id in this turn, otherwise
   * (`late`) the latest call with its id.
   */
  readonly result: (id: string, answer: Answer) => MetResult<Call, Answer>
  /** Whether a result with this id would be late. Has no effect. */
  readonly isLate: (id: string) => boolean
  /** Adds any other item at a position: results for calls in earlier items are late from now on. */
  readonly other: (position: number) => void
  /** The number of unanswered calls in this turn. */
  readonly waiting: () => number
  /** All calls so far, in order; frozen. */
  readonly calls: () => readonly MetCall<Call, Answer>[]
}

/**
 * Starts a walk. This is the only place that decides which result answers which call. A reused id is a separate call.
 *
 * Cost    O(1) per call and result
 */
export const createPairing = <Call, Answer>(): Pairing<Call, Answer> => {
  type MutableCall = { -readonly [Key in keyof MetCall<Call, Answer>]: MetCall<Call, Answer>[Key] }
  const calls: MutableCall[] = []
  const latest = new Map<string, MutableCall>()
  /** The unanswered calls of this turn by id; usually one per id. */
  let open = new Map<string, MutableCall[]>()
  let waiting = 0
  let turn = 0
  const endTurnUnlessAt = (position: number): void => {
    if (waiting === 0 || turn === position) return
    open = new Map()
    waiting = 0
  }
  return {
    calls: () => Object.freeze([...calls]),
    other: endTurnUnlessAt,
    isLate: (id) => {
      const met = latest.get(id)
      return met !== undefined && met.answer === undefined && open.get(id) === undefined
    },
    waiting: () => waiting,
    call: (id, call, position, answer) => {
      endTurnUnlessAt(position)
      const before = latest.get(id)
      const met: MutableCall = { call, answer, adjacent: false }
      calls.push(met)
      latest.set(id, met)
      turn = position
      if (answer !== undefined) return before
      let same = open.get(id)
      if (same === undefined) open.set(id, (same = []))
      same.push(met)
      waiting += 1
      return before
    },
    result: (id, answer) => {
      const same = open.get(id)
      const of = same?.[0] ?? latest.get(id)
      if (of === undefined) return { type: 'orphan' }
      if (of.answer !== undefined) return { type: 'second', of, first: of.answer }
      of.answer = answer
      if (same === undefined) return { type: 'late', of }
      of.adjacent = true
      waiting -= 1
      if (same.length === 1) open.delete(id)
      else same.shift()
      return { type: 'answer', of }
    },
  }
}

/** The number of messages. Throws TypeError for another value, which the compiler would have rejected. */
export const lengthOf = (messages: Sequence<Message>): number => {
  const length: unknown = (messages as Sequence<Message> | undefined)?.length
  if (typeof length !== 'number' || typeof messages === 'string')
    throw new TypeError(`expected messages: an array, or a view such as history.view(), found ${describe(messages)}`)
  return length
}

/** Calls a function for each call, each result and everything else in messages, part by part. */
export const walkMessages = (
  messages: Sequence<Message>,
  call: (part: ToolCallPart, position: number, index: number) => void,
  result: (part: ToolResultPart, position: number, index: number) => void,
  endTurnUnlessAt: (position: number) => void,
): void => {
  lengthOf(messages) // throws
  let position = 0
  for (const { content } of messages) {
    if (content.length === 0) endTurnUnlessAt(position)
    for (const [index, part] of content.entries()) {
      const was = part.type === 'erased' ? erasedTextPart(part) : part
      if (was.type === 'tool_result') result(was, position, index)
      else if (was.type === 'tool_call') call(was, position, index)
      else endTurnUnlessAt(position)
    }
    position += 1
  }
}

/**
 * All tool calls with their results.
 *
 * Cost    one pass, O(parts)
 *
 * @param messages the conversation
 * @returns the calls, in the order in which they were made
 */
export const pairCalls = (messages: Sequence<Message>): readonly PairedCall[] => {
  const pairing = createPairing<OpenCall & Pick<PairedCall, 'call'>, PairedCall['answer'] & object>()
  walkMessages(
    messages,
    (call, position, part) => pairing.call(call.id, { id: call.id, name: call.name, position, part, call }, position),
    (result, position, part) => pairing.result(result.callId, { position, part, result }),
    pairing.other,
  )
  return Object.freeze(pairing.calls().map(({ call, answer }) => Object.freeze({ ...call, answer })))
}

/**
 * The calls without a later result. Cost: one pass, O(parts).
 *
 * @param messages the conversation
 * @returns the calls, in the order in which they were made
 */
export const openCalls = (messages: Sequence<Message>): readonly OpenCall[] =>
  Object.freeze(
    pairCalls(messages)
      .filter(({ answer }) => answer === undefined)
      .map(({ id, name, position, part }) => Object.freeze({ id, name, position, part })),
  )
