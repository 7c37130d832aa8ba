/** The traces of an interrupted run: unrecorded steps, calls without results, and calls that no message contains. */
import type { Either } from 'fp-ts/lib/Either.js'
import type { View } from '../../history/index.ts'
import { isLeft, right } from '../../json/index.ts'
import { interruptedResults, openCalls, type Message, type OpenCall } from '../../message/index.ts'
import { callsOf, isCut } from '../../message/kit.ts'
import {
  callIdsIn,
  cutAnswerNotice,
  interruptedTool,
  messagesOf,
  nameStep,
  openStepsIn,
  whyUnanswered,
  type OpenStep,
} from './journal.ts'
import { conversationOf, type Mirror } from './mirror.ts'
import type { LogFault, Store } from '../../store/index.ts'
import type { StartedCall } from '../session.ts'

/** The open calls of the last assistant message, if only tool results follow it. */
export const openCallsIn = (mirror: Mirror): readonly OpenCall[] => {
  const conversation = conversationOf(mirror)
  const turn = conversation.slice(lastTurnOf(conversation))
  return Object.freeze(
    openCalls(turn).map((call) => Object.freeze({ ...call, position: turn.positionAt(call.position) as number })),
  )
}

/** The index of the last message that is not a tool result; 0 if there is none. */
const lastTurnOf = (view: View<Message>): number => {
  let from = view.length - 1
  while (from > 0 && view.at(from)?.role === 'tool') from -= 1
  return Math.max(0, from)
}

/** The open steps whose runs have ended: they never held a lease, or no longer hold it. */
export const endedStepsIn = (mirror: Mirror): readonly OpenStep[] =>
  openStepsIn(mirror).filter(({ lease = 0 }) => lease <= mirror.endedLeases)

export const interruptedResultsIn = (mirror: Mirror, reason: string | undefined): readonly Message[] => {
  const started = new Set<string>()
  for (const note of mirror.notes.view()) if (note.type === 'tool_started') started.add(note.callId)
  const interruptedText = (call: OpenCall): string =>
    reason ?? (started.has(call.id) ? interruptedTool : 'The run was interrupted before this tool gave a result.')
  const ended = endedStepsIn(mirror)
  const callIds = ended.length === 0 ? new Set<string>() : callIdsIn(mirror.history.view())
  const messages = [
    ...openCallsIn(mirror).flatMap((call) => interruptedResults([call], interruptedText(call))),
    ...ended.flatMap((step) =>
      nameStep(step, messagesOf(step, callIds, reason === undefined ? whyUnanswered : () => reason)),
    ),
  ]
  const last = messages.at(-1)
  return Object.freeze(last?.role === 'assistant' && isCut(last) ? [...messages, cutAnswerNotice(reason)] : messages)
}

/** The started calls without a known result, of all unrecorded steps. */
export const unfinishedCallsIn = (mirror: Mirror): readonly StartedCall[] => {
  const inSteps = openStepsIn(mirror).flatMap(({ answer, said: interruptedText, started, results }) =>
    callsOf(answer ?? { role: 'assistant', content: interruptedText.filter((part) => typeof part !== 'string') })
      .filter(({ id }) => started.has(id) && !results.has(id))
      .map(({ id, name, arguments: given }) => Object.freeze({ callId: id, name, arguments: given })),
  )
  return Object.freeze(inSteps)
}

/**
 * Checks whether the runs of open steps still hold the lease. Without open steps the store is not asked.
 *
 * Cost    one request to the store, or none
 */
export const lookAtLease = async (store: Store, mirror: Mirror): Promise<Either<LogFault, void>> => {
  const latest = Math.max(0, ...openStepsIn(mirror).map(({ lease = 0 }) => lease))
  if (latest <= mirror.endedLeases) return right(undefined)
  const live = await store.leaseOf(mirror.id)()
  if (isLeft(live)) return live
  mirror.endedLeases = Math.max(mirror.endedLeases, live.right === undefined ? latest : live.right.number - 1)
  return right(undefined)
}
