/**
 * Settled conversations: every tool call has exactly one result, after it and before any other message. Providers
 * reject anything else with HTTP 400, so only a settled sequence can become a model request.
 *
 * Source  OpenAI Chat Completions ("an assistant message with 'tool_calls' must be followed by tool messages"),
 *         Anthropic Messages ("tool_use ids were found without tool_result blocks immediately after"), 2026-11
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { arrayOf, emptyList, freeze, left, mapEach, OwnMap, OwnSet, right, bindMethod } from '../json/index.ts'
import { itemAt, type Sequence } from '../sequence/index.ts'
import { noResult, toolResult } from './construct.ts'
import { withErasedText } from './erased.ts'
import type { PairingFault, PairingProblem, PartPlace } from './fault.ts'
import type { Message, Part, ToolCallPart, ToolResultPart } from './message.ts'
import { createPairing, walkMessages, type MetCall } from './pairing.ts'

// The name in the compiler's error when a sequence is not settled.
declare const settleOrMendMakesIt: unique symbol

/** A sequence that `settle` or `mend` has verified. Only they create this brand. */
export type Settled<V extends Sequence<Message>> = V & { readonly [settleOrMendMakesIt]: true }

/** One repair by `mend`. */
export interface Repair {
  /** The problem in the damaged conversation. */
  readonly problem: PairingProblem
  /** The repair in the derived conversation. */
  readonly done:
    | 'inserted an error result'
    | 'left out the result'
    | 'moved the result to its call'
    | 'renamed the call'
}

/** A settled conversation derived from a damaged one, which is not modified. */
export interface Mended<V extends Sequence<Message>> {
  /** The settled conversation: the given one if it was already settled. */
  readonly messages: Settled<V> | Settled<readonly Message[]>
  /** All repairs, in conversation order. Empty if it was already settled. */
  readonly repairs: readonly Repair[]
}

/**
 * Checks that a conversation is settled: every tool call has exactly one result, directly after it. Only a settled
 * conversation can become a model request.
 *
 * Cost    one pass, O(parts)
 *
 * @param messages the conversation
 * @returns the same sequence, branded as settled; or `Unsettled` with all problems, their positions and call ids
 * @example
 * const request = openaiChat.encode(orThrow(settle(session.conversation())))
 */
export const settle = <V extends Sequence<Message>>(messages: V): Either<PairingFault, Settled<V>> => {
  const { problems } = pair(messages)
  // The only cast: the brand means that there are no problems.
  return problems.length === 0 ? right(messages as Settled<V>) : left({ _tag: 'Unsettled', problems })
}

/**
 * Derives a settled conversation from one that may be damaged. A call without a result gets an error result, a
 * misplaced result moves to its call, orphan and duplicate results are dropped, and a call with a used id gets a new
 * one. A settled sequence is returned as is.
 *
 * If a record only ends in open calls, append `interruptedResults` instead: `mend` is for damage in the middle.
 *
 * Cost    O(parts)
 *
 * @param messages the conversation; not modified
 */
export const mend = <V extends Sequence<Message>>(messages: V): Mended<V> => {
  const { calls, problems } = pair(messages)
  if (problems.length === 0) return freeze({ messages: messages as Settled<V>, repairs: noRepairs })
  const { length } = messages

  const names = uniqueIds(calls)
  // Keyed by place, not by part, because the same object may be in several places.
  const madeAt = new OwnMap<string, Call>()
  const answeredAt = new OwnMap<string, Call>()
  for (let index = 0; index < calls.length; index++) {
    const call = calls[index] as Call
    madeAt.set(key(call.call), call)
    if (call.answer !== undefined) answeredAt.set(key(call.answer.place), call)
  }

  const result = emptyList<Message>()
  for (let position = 0; position < length; position++) {
    const message = withErasedText(itemAt(messages, position)) // has the same number of parts, in the same places
    const moved = emptyList<Message>()
    const content = emptyList<Part>()
    for (let index = 0; index < message.content.length; index++) {
      const part = message.content[index] as Part
      const place = key({ position, part: index })
      if (part.type === 'tool_result') {
        const call = answeredAt.get(place)
        if (call?.adjacent === true) content[content.length] = renamedResult(part, names.get(call) ?? part.callId)
        continue
      }
      const call = part.type === 'tool_call' ? madeAt.get(place) : undefined
      if (part.type === 'tool_call' && call !== undefined) {
        if (!call.adjacent) moved[moved.length] = answerTo(call, names.get(call))
        content[content.length] = renamedCall(part, names.get(call) ?? part.id)
      } else content[content.length] = part
    }
    if (content.length > 0 || message.content.length === 0) result[result.length] = withContent(message, content)
    for (let index = 0; index < moved.length; index++) result[result.length] = moved[index] as Message
  }
  const repairs = mapEach(problems, (problem): Repair => freeze({ problem, done: repairOf[problem._tag] }))
  return freeze({ messages: arrayOf(result) as Settled<readonly Message[]>, repairs })
}

const repairOf = {
  UnansweredCall: 'inserted an error result',
  DuplicateCallId: 'renamed the call',
  OrphanResult: 'left out the result',
  DuplicateResult: 'left out the result',
  ResultBeforeCall: 'left out the result',
  ResultNotAdjacent: 'moved the result to its call',
} as const satisfies { readonly [Tag in PairingProblem['_tag']]: Repair['done'] }

type Call = MetCall<PartPlace, { readonly place: PartPlace; readonly part: ToolResultPart }>

const pair = (
  messages: Sequence<Message>,
): { readonly calls: readonly Call[]; readonly problems: readonly PairingProblem[] } => {
  const pairing = createPairing<PartPlace, Call['answer'] & object>()
  const problems = emptyList<PairingProblem>()
  const early = emptyList<PartPlace>()
  const latest = new OwnMap<string, PartPlace>()
  const addProblem = (problem: PairingProblem): void => {
    problems[problems.length] = freeze(problem)
  }
  walkMessages(
    messages,
    ({ id }, position, part) => {
      const place = { id, position, part }
      const before = pairing.call(id, place, position)
      if (before !== undefined) addProblem({ _tag: 'DuplicateCallId', ...place, first: before.call })
      latest.set(id, place)
    },
    (result, position, part) => {
      const place = { id: result.callId, position, part }
      const met = pairing.result(result.callId, { place, part: result })
      if (met.type === 'orphan') early[early.length] = place
      else if (met.type === 'second') addProblem({ _tag: 'DuplicateResult', ...place, first: met.first.place })
      else if (met.type === 'late') addProblem({ _tag: 'ResultNotAdjacent', ...place, call: met.of.call })
    },
    pairing.other,
  )
  const calls = pairing.calls()
  for (let index = 0; index < calls.length; index++) {
    const { answer, call } = calls[index] as Call
    if (answer === undefined) addProblem({ _tag: 'UnansweredCall', ...call })
  }
  for (let index = 0; index < early.length; index++) {
    const place = early[index] as PartPlace
    const call = latest.get(place.id)
    addProblem(call === undefined ? { _tag: 'OrphanResult', ...place } : { _tag: 'ResultBeforeCall', ...place, call })
  }
  return { calls, problems: freeze(sortedList(problems, (a, b) => a.position - b.position || a.part - b.part)) }
}

/** V8 assigns the only item of a list instead of defining it, which could run a setter on a prototype. */
const sortedList = <T>(list: T[], compare: (a: T, b: T) => number): readonly T[] =>
  list.length < 2 ? arrayOf(list) : toSorted(list, compare)

const toSorted: <T>(list: readonly T[], compare: (a: T, b: T) => number) => T[] = bindMethod(Array.prototype.toSorted)

/** A new id for every call that reuses an earlier call's id. */
const uniqueIds = (calls: readonly Call[]): ReadonlyMap<Call, string> => {
  const used = new OwnSet<string>()
  for (let index = 0; index < calls.length; index++) used.add((calls[index] as Call).call.id)
  const met = new OwnSet<string>()
  const times = new OwnMap<string, number>()
  const names = new OwnMap<Call, string>()
  for (let index = 0; index < calls.length; index++) {
    const call = calls[index] as Call
    const { id } = call.call
    if (!met.has(id)) {
      met.add(id)
      continue
    }
    let count = (times.get(id) ?? 1) + 1
    while (used.has(`${id}_${count}`)) count += 1
    times.set(id, count)
    used.add(`${id}_${count}`)
    names.set(call, `${id}_${count}`)
  }
  return names
}

const key = ({ position, part }: Pick<PartPlace, 'position' | 'part'>): string => `${position}/${part}`

/** The result message for a call whose result is misplaced or missing. */
const answerTo = ({ call, answer }: Call, id: string = call.id): Message =>
  answer === undefined
    ? toolResult(id, noResult, { isError: true })
    : freeze({ role: 'tool', content: freeze([renamedResult(answer.part, id)]) })

const noRepairs: readonly Repair[] = freeze([])

/** The call with an id; the same object if it has that id. */
export const renamedCall = (part: ToolCallPart, id: string): ToolCallPart =>
  id === part.id ? part : freeze({ ...part, id })

/** The result with a call id; the same object if it has that id. */
export const renamedResult = (part: ToolResultPart, callId: string): ToolResultPart =>
  callId === part.callId ? part : freeze({ ...part, callId })

/** The message with these parts; the same object if they are its own. `content` is frozen and used as is. */
export const withContent = (message: Message, content: Part[]): Message =>
  sameParts(content, message.content) ? message : freeze({ ...message, content: arrayOf(content) })

const sameParts = (left: readonly Part[], right: readonly Part[]): boolean => {
  if (left.length !== right.length) return false
  for (let index = 0; index < left.length; index++) if (left[index] !== right[index]) return false
  return true
}
