/**
 * Settled conversations: every tool call has exactly one result, after it and before any other message. Providers
 * reject anything else with HTTP 400, so only a settled sequence can become a model request.
 *
 * Source  OpenAI Chat Completions ("an assistant message with 'tool_calls' must be followed by tool messages"),
 *         Anthropic Messages ("tool_use ids were found without tool_result blocks immediately after"), 2026-11
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from '../either/index.ts'
import type { Sequence } from '../sequence/index.ts'
import { toolResult } from './construct.ts'
import { withErasedText } from './erased.ts'
import type { PairingFault, PairingProblem, PartPlace } from './fault.ts'
import type { Message, Part, ToolCallPart, ToolResultPart } from './message.ts'
import { createPairing, walkMessages, type MetCall } from './pairing.ts'
import { noResult } from './unanswered.ts'

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
  if (problems.length === 0) return Object.freeze({ messages: messages as Settled<V>, repairs: noRepairs })
  const names = uniqueIds(calls)
  // Keyed by place, not by part, because the same object may be in several places.
  const madeAt = new Map<string, Call>()
  const answeredAt = new Map<string, Call>()
  for (const call of calls) {
    madeAt.set(key(call.call), call)
    if (call.answer !== undefined) answeredAt.set(key(call.answer.place), call)
  }

  const result: Message[] = []
  let position = 0
  for (const input of messages) {
    const message = withErasedText(input) // has the same number of parts, in the same places
    const moved: Message[] = []
    const content = message.content.flatMap((part, index): Part[] => {
      const place = key({ position, part: index })
      if (part.type === 'tool_result') {
        const call = answeredAt.get(place)
        return call?.adjacent === true ? [renamedResult(part, names.get(call) ?? part.callId)] : []
      }
      const call = part.type === 'tool_call' ? madeAt.get(place) : undefined
      if (part.type !== 'tool_call' || call === undefined) return [part]
      if (!call.adjacent) moved.push(answerTo(call, names.get(call)))
      return [renamedCall(part, names.get(call) ?? part.id)]
    })
    if (content.length > 0 || message.content.length === 0) result.push(withContent(message, content))
    for (const answer of moved) result.push(answer)
    position += 1
  }
  const repairs = problems.map((problem): Repair => Object.freeze({ problem, done: repairOf[problem._tag] }))
  return Object.freeze({
    messages: Object.freeze(result) as Settled<readonly Message[]>,
    repairs: Object.freeze(repairs),
  })
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
  const problems: PairingProblem[] = []
  const early: PartPlace[] = []
  const latest = new Map<string, PartPlace>()
  const addProblem = (problem: PairingProblem): void => {
    problems.push(Object.freeze(problem))
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
      if (met.type === 'orphan') early.push(place)
      else if (met.type === 'second') addProblem({ _tag: 'DuplicateResult', ...place, first: met.first.place })
      else if (met.type === 'late') addProblem({ _tag: 'ResultNotAdjacent', ...place, call: met.of.call })
    },
    pairing.other,
  )
  const calls = pairing.calls()
  for (const { answer, call } of calls) if (answer === undefined) addProblem({ _tag: 'UnansweredCall', ...call })
  for (const place of early) {
    const call = latest.get(place.id)
    addProblem(call === undefined ? { _tag: 'OrphanResult', ...place } : { _tag: 'ResultBeforeCall', ...place, call })
  }
  problems.sort((a, b) => a.position - b.position || a.part - b.part)
  return { calls, problems: Object.freeze(problems) }
}

/** A new id for every call that reuses an earlier call's id. */
const uniqueIds = (calls: readonly Call[]): ReadonlyMap<Call, string> => {
  const used = new Set(calls.map(({ call }) => call.id))
  const met = new Set<string>()
  const times = new Map<string, number>()
  const names = new Map<Call, string>()
  for (const call of calls) {
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
    : Object.freeze({ role: 'tool', content: Object.freeze([renamedResult(answer.part, id)]) })

const noRepairs: readonly Repair[] = Object.freeze([])

/** The call with an id; the same object if it has that id. */
export const renamedCall = (part: ToolCallPart, id: string): ToolCallPart =>
  id === part.id ? part : Object.freeze({ ...part, id })

/** The result with a call id; the same object if it has that id. */
export const renamedResult = (part: ToolResultPart, callId: string): ToolResultPart =>
  callId === part.callId ? part : Object.freeze({ ...part, callId })

/** The message with these parts; the same object if they are its own. `content` is frozen and used as is. */
export const withContent = (message: Message, content: Part[]): Message =>
  sameParts(content, message.content) ? message : Object.freeze({ ...message, content: Object.freeze(content) })

const sameParts = (left: readonly Part[], right: readonly Part[]): boolean =>
  left.length === right.length && left.every((part, index) => part === right[index])
