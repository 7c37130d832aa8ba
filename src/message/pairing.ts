/** Pairing: which result answers which tool call. A request with a call that has no result is refused by every provider. */
import { emptyList, filterEach, freeze, mapEach, OwnMap } from '../json/index.ts'
import { itemAt, type Sequence } from '../sequence/index.ts'
import { standInOf } from './erased.ts'
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
  /** The place of its result, and the result; `undefined` if it has none. */
  readonly answer: { readonly position: number; readonly part: number; readonly result: ToolResultPart } | undefined
}

/** A call that a walk has met. */
export interface MetCall<Call, Answer> {
  /** What the walk was given for the call. */
  readonly call: Call
  /** What it was given for its result; undefined as long as there is none. */
  readonly answer: Answer | undefined
  /** Whether the result came before anything else was said. */
  readonly adjacent: boolean
}

/** What a result is: the answer of a call, a second one, or that of no call before it. */
export type MetResult<Call, Answer> =
  | {
      /** It answers its call: in its turn, or `late`. */
      readonly type: 'answer' | 'late'
      /** The call. */
      readonly of: MetCall<Call, Answer>
    }
  | {
      /** Its call has a result already. */
      readonly type: 'second'
      /** The call. */
      readonly of: MetCall<Call, Answer>
      /** The first result. */
      readonly first: Answer
    }
  | {
      /** No call before it has its id. */
      readonly type: 'orphan'
    }

/** A walk over calls and results in the order in which they were made, in any form. */
export interface Pairing<Call, Answer> {
  /**
   * A call, in the item at a position. With an `answer`, the result is known before it comes, and the call does not wait.
   * Gives the latest earlier call with its id, if there is one.
   */
  readonly call: (id: string, call: Call, position: number, answer?: Answer) => MetCall<Call, Answer> | undefined
  /**
   * A result. It answers the first call of this turn with its id that has none yet, or else (`late`) the latest call
   * with its id.
   */
  readonly result: (id: string, answer: Answer) => MetResult<Call, Answer>
  /** Whether a result with this id would be late. Changes nothing. */
  readonly isLate: (id: string) => boolean
  /** Something else, in the item at a position: results of calls in earlier items are late from now on. */
  readonly other: (position: number) => void
  /** How many calls wait: made in this turn, and not answered. */
  readonly waiting: () => number
  /** Every call so far, in order: a frozen array. */
  readonly calls: () => readonly MetCall<Call, Answer>[]
}

/**
 * A new walk: the one place that says which result answers which call. An id that is used again is a call of its own.
 *
 * Cost    O(1) for each call and result
 */
export const createPairing = <Call, Answer>(): Pairing<Call, Answer> => {
  type Met = { -readonly [Key in keyof MetCall<Call, Answer>]: MetCall<Call, Answer>[Key] }
  const calls = emptyList<Met>()
  const latest = new OwnMap<string, Met>()
  /** The calls of this turn that have no result, by id; mostly one each. */
  let open = new OwnMap<string, Met[]>()
  let waiting = 0
  let turn = 0
  const other = (position: number): void => {
    if (waiting === 0 || turn === position) return
    open = new OwnMap()
    waiting = 0
  }
  return {
    calls: () => mapEach(calls, (met) => met),
    other,
    isLate: (id) => {
      const met = latest.get(id)
      return met !== undefined && met.answer === undefined && open.get(id) === undefined
    },
    waiting: () => waiting,
    call: (id, call, position, answer) => {
      other(position)
      const before = latest.get(id)
      const met: Met = { call, answer, adjacent: false }
      calls[calls.length] = met
      latest.set(id, met)
      turn = position
      if (answer !== undefined) return before
      let same = open.get(id)
      if (same === undefined) open.set(id, (same = emptyList<Met>()))
      same[same.length] = met
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
      else {
        for (let index = 1; index < same.length; index++) same[index - 1] = same[index] as Met
        same.length -= 1
      }
      return { type: 'answer', of }
    },
  }
}

/** Tell of each call, each result and everything else in messages, part by part. */
export const walkMessages = (
  messages: Sequence<Message>,
  call: (part: ToolCallPart, position: number, index: number) => void,
  result: (part: ToolResultPart, position: number, index: number) => void,
  other: (position: number) => void,
): void => {
  const { length } = messages
  for (let position = 0; position < length; position++) {
    const { content } = itemAt(messages, position)
    if (content.length === 0) other(position)
    for (let index = 0; index < content.length; index++) {
      const part = content[index]
      if (part?.type === 'tool_result') result(part, position, index)
      else if (part?.type === 'tool_call') call(part, position, index)
      else if (part?.type === 'erased') {
        const was = standInOf(part)
        if (was.type === 'tool_result') result(was, position, index)
        else if (was.type === 'tool_call') call(was, position, index)
        else other(position)
      } else other(position)
    }
  }
}

/**
 * Every tool call with its answer, in the order in which the calls were made.
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
  return mapEach(pairing.calls(), ({ call, answer }) => freeze({ ...call, answer }))
}

/**
 * The calls that no later result answers, in the order in which they were made. Cost: one pass, O(parts).
 *
 * @param messages the conversation
 * @returns the calls, in the order in which they were made
 */
export const openCalls = (messages: Sequence<Message>): readonly OpenCall[] =>
  mapEach(
    filterEach(pairCalls(messages), ({ answer }) => answer === undefined),
    ({ id, name, position, part }) => freeze({ id, name, position, part }),
  )
