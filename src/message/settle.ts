/**
 * Settled conversations: every tool call has exactly one result, after it and before anything else is said. Providers
 * answer everything else with HTTP 400, so only a settled sequence can become a model request.
 *
 * Source  OpenAI Chat Completions ("an assistant message with 'tool_calls' must be followed by tool messages"),
 *         Anthropic Messages ("tool_use ids were found without tool_result blocks immediately after"), 2026-11
 */
import { left, right, type Either } from 'fp-ts/lib/Either.js'
import type { Sequence } from '../sequence/index.ts'
import { text, toolResult } from './construct.ts'
import type { Message, Part, ToolCallPart, ToolResultPart } from './message.ts'
import type { OpenCall } from './pairing.ts'

// What the compiler names, where somebody gives a sequence that is not settled.
declare const settleOrMendMakesIt: unique symbol

/** A sequence that `settle` or `mend` has found in order. Nothing else gives this brand. */
export type Settled<V extends Sequence<Message>> = V & { readonly [settleOrMendMakesIt]: true }

/** Where a call or a result is: its message and its part in it. */
export interface PartPlace {
  readonly id: string
  readonly position: number
  readonly part: number
}

export type PairingProblem =
  /** A call that no result answers. */
  | (PartPlace & { readonly _tag: 'UnansweredCall' })
  /** A call with an id that an earlier call (`first`) had. */
  | (PartPlace & { readonly _tag: 'DuplicateCallId'; readonly first: PartPlace })
  /** A result for a call that is nowhere. */
  | (PartPlace & { readonly _tag: 'OrphanResult' })
  /** A second result for a call that has one (`first`). */
  | (PartPlace & { readonly _tag: 'DuplicateResult'; readonly first: PartPlace })
  /** A result that stands before its call. */
  | (PartPlace & { readonly _tag: 'ResultBeforeCall'; readonly call: PartPlace })
  /** A result with something else between it and its call. */
  | (PartPlace & { readonly _tag: 'ResultNotAdjacent'; readonly call: PartPlace })

export interface PairingFault {
  readonly _tag: 'Unsettled'
  /** Everything that is wrong, in the order of the conversation. Never empty. */
  readonly problems: readonly PairingProblem[]
}

/** One thing that `mend` did: what was wrong, and what the derived conversation has instead. */
export interface Repair {
  readonly problem: PairingProblem
  readonly done: 'inserted an error result' | 'left out the result' | 'moved the result to its call' | 'renamed the call'
}

/** A settled conversation derived from a damaged one. The damaged one stays as it was found. */
export interface Mended<V extends Sequence<Message>> {
  readonly messages: Settled<V> | Settled<readonly Message[]>
  readonly repairs: readonly Repair[]
}

/**
 * The same sequence, branded as settled; or everything that keeps it from being so, with positions and ids.
 *
 * Cost    one pass, O(parts)
 */
export const settle = <V extends Sequence<Message>>(messages: V): Either<PairingFault, Settled<V>> => {
  const { problems } = pair(messages)
  // The one cast: no problems is what the brand says.
  return problems.length === 0 ? right(messages as Settled<V>) : left({ _tag: 'Unsettled', problems })
}

/**
 * A settled conversation derived from one that may be damaged: calls without a result get an error result that says
 * so, results that stand elsewhere are moved to their call, orphan and duplicate results are left out, and a call whose
 * id was used before gets one of its own. A settled sequence is given back as it is.
 *
 * For a record that ends in open calls, append `interruptedResults` instead: `mend` is for damage in the middle.
 *
 * Cost    O(parts)
 */
export const mend = <V extends Sequence<Message>>(messages: V): Mended<V> => {
  const { calls, problems } = pair(messages)
  if (problems.length === 0) return Object.freeze({ messages: messages as Settled<V>, repairs: Object.freeze([]) })

  const names = uniqueIds(calls)
  // By place and not by part: one object may stand in several places.
  const madeAt = new Map(calls.map((call) => [key(call.place), call]))
  const answeredAt = new Map(calls.flatMap((call) => (call.answer === undefined ? [] : [[key(call.answer.place), call] as const])))

  const result: Message[] = []
  let position = 0
  for (const message of messages) {
    const moved: Message[] = []
    const content = message.content.flatMap((part, index): readonly Part[] => {
      const place = key({ position, part: index })
      if (part.type === 'tool_result') {
        const call = answeredAt.get(place)
        return call?.adjacent === true ? [renamedResult(part, names.get(call))] : []
      }
      const call = part.type === 'tool_call' ? madeAt.get(place) : undefined
      if (part.type !== 'tool_call' || call === undefined) return [part]
      if (!call.adjacent) moved.push(answerTo(call, names.get(call)))
      return [renamedCall(part, names.get(call))]
    })
    if (content.length > 0 || message.content.length === 0)
      result.push(same(content, message.content) ? message : Object.freeze({ ...message, content: Object.freeze(content) }))
    for (const answer of moved) result.push(answer)
    position += 1
  }
  const repairs = problems.map((problem): Repair => Object.freeze({ problem, done: repairOf[problem._tag] }))
  return Object.freeze({ messages: Object.freeze(result) as readonly Message[] as Settled<readonly Message[]>, repairs: Object.freeze(repairs) })
}

/**
 * Error results for the calls that an interrupted run left open, one message each, in the order of the calls: to be
 * appended, so that the record itself is settled. `reason` is what the model will read.
 *
 * @example
 * for (const message of interruptedResults(openCalls(history.view()), 'interrupted by the user')) history.append(message)
 */
export const interruptedResults = (open: readonly Pick<OpenCall, 'id' | 'name'>[], reason: string): readonly Message[] =>
  Object.freeze(open.map(({ id, name }) => toolResult(id, [text(reason)], { name, isError: true })))

/** A pairing fault as a sentence for people. */
export const pairingFaultText = ({ problems }: PairingFault): string => {
  const [first] = problems
  const more = problems.length > 1 ? `, and ${problems.length - 1} more` : ''
  return `the conversation is not settled: ${first === undefined ? 'nothing is known of why' : problemText(first)}${more}; mend() derives one that is`
}

/** A pairing problem as a clause. */
export const problemText = (problem: PairingProblem): string => {
  const id = JSON.stringify(problem.id)
  switch (problem._tag) {
    case 'UnansweredCall':
      return `the call ${id} at position ${problem.position} has no result`
    case 'DuplicateCallId':
      return `the call at position ${problem.position} has the id ${id} of the call at position ${problem.first.position}`
    case 'OrphanResult':
      return `the result at position ${problem.position} answers the call ${id}, which is nowhere`
    case 'DuplicateResult':
      return `the result at position ${problem.position} answers the call ${id}, which position ${problem.first.position} has answered`
    case 'ResultBeforeCall':
      return `the result at position ${problem.position} stands before its call ${id} at position ${problem.call.position}`
    case 'ResultNotAdjacent':
      return `the result at position ${problem.position} does not follow its call ${id} at position ${problem.call.position} directly`
  }
}

const noResult = 'No result was recorded for this call.'

const repairOf = {
  UnansweredCall: 'inserted an error result',
  DuplicateCallId: 'renamed the call',
  OrphanResult: 'left out the result',
  DuplicateResult: 'left out the result',
  ResultBeforeCall: 'left out the result',
  ResultNotAdjacent: 'moved the result to its call',
} as const satisfies { readonly [Tag in PairingProblem['_tag']]: Repair['done'] }

/** A call as the walk below knows it. */
interface Call {
  readonly place: PartPlace
  answer: { readonly place: PartPlace; readonly part: ToolResultPart } | undefined
  /** Whether the answer stands where a provider wants it. */
  adjacent: boolean
}

/**
 * Walk the parts in order. `waiting` holds the calls that may be answered right now: those since the last thing that
 * was said. Anything but a result, in a later message than theirs, ends their turn.
 */
const pair = (messages: Sequence<Message>): { readonly calls: readonly Call[]; readonly problems: readonly PairingProblem[] } => {
  const calls: Call[] = []
  const latest = new Map<string, Call>()
  const found: { readonly at: PartPlace; readonly problem: PairingProblem }[] = []
  const early: PartPlace[] = []
  const note = (problem: PairingProblem): void => void found.push({ at: problem, problem })
  let waiting = new Map<string, Call>()
  let turn = 0
  let position = 0
  for (const { content } of messages) {
    if (content.length === 0 && waiting.size > 0) waiting = new Map()
    for (let part = 0; part < content.length; part++) {
      const current = content[part] as Part
      if (current.type === 'tool_result') {
        const place = { id: current.callId, position, part }
        const call = waiting.get(current.callId) ?? latest.get(current.callId)
        if (call === undefined) early.push(place)
        else if (call.answer !== undefined) note({ _tag: 'DuplicateResult', ...place, first: call.answer.place })
        else {
          call.answer = { place, part: current }
          call.adjacent = waiting.get(current.callId) === call
          waiting.delete(current.callId)
          if (!call.adjacent) note({ _tag: 'ResultNotAdjacent', ...place, call: call.place })
        }
        continue
      }
      if (waiting.size > 0 && turn !== position) waiting = new Map()
      if (current.type !== 'tool_call') continue
      const call: Call = { place: { id: current.id, position, part }, answer: undefined, adjacent: false }
      const before = latest.get(current.id)
      if (before !== undefined) note({ _tag: 'DuplicateCallId', ...call.place, first: before.place })
      calls.push(call)
      latest.set(current.id, call)
      waiting.set(current.id, call)
      turn = position
    }
    position += 1
  }
  for (const call of calls) if (call.answer === undefined) note({ _tag: 'UnansweredCall', ...call.place })
  for (const place of early) {
    const call = latest.get(place.id)
    note(call === undefined ? { _tag: 'OrphanResult', ...place } : { _tag: 'ResultBeforeCall', ...place, call: call.place })
  }
  const problems = found.toSorted((a, b) => a.at.position - b.at.position || a.at.part - b.at.part).map(({ problem }) => Object.freeze(problem))
  return { calls, problems: Object.freeze(problems) }
}

/** An id of its own for every call whose id an earlier call has. */
const uniqueIds = (calls: readonly Call[]): ReadonlyMap<Call, string> => {
  const taken = new Set(calls.map(({ place }) => place.id))
  const met = new Set<string>()
  const times = new Map<string, number>()
  const names = new Map<Call, string>()
  for (const call of calls) {
    const { id } = call.place
    if (!met.has(id)) {
      met.add(id)
      continue
    }
    let count = (times.get(id) ?? 1) + 1
    while (taken.has(`${id}_${count}`)) count += 1
    times.set(id, count)
    taken.add(`${id}_${count}`)
    names.set(call, `${id}_${count}`)
  }
  return names
}

const key = ({ position, part }: Pick<PartPlace, 'position' | 'part'>): string => `${position}/${part}`

/** The message that answers a call whose result stands elsewhere or nowhere. */
const answerTo = ({ place, answer }: Call, id: string = place.id): Message =>
  answer === undefined
    ? toolResult(id, noResult, { isError: true })
    : Object.freeze({ role: 'tool', content: Object.freeze([renamedResult(answer.part, id)]) })

const renamedCall = (part: ToolCallPart, id: string | undefined): ToolCallPart =>
  id === undefined ? part : Object.freeze({ ...part, id })

const renamedResult = (part: ToolResultPart, id: string | undefined): ToolResultPart =>
  id === undefined || id === part.callId ? part : Object.freeze({ ...part, callId: id })

const same = (left: readonly Part[], right: readonly Part[]): boolean =>
  left.length === right.length && left.every((part, index) => part === right[index])
