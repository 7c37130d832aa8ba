/** What an interrupted run left: unrecorded steps, calls without results, and calls that no message contains. */
import type { Either } from 'fp-ts/lib/Either.js'
import type { View } from '../../history/index.ts'
import { describe, isLeft, optionsOf, right } from '../../json/index.ts'
import { interruptedResults, openCalls, type Message, type OpenCall } from '../../message/index.ts'
import { callsOf, interruptedCall, interruptedTool, isCut } from '../../message/internal.ts'
import {
  callIdsIn,
  cutAnswerNotice,
  messagesOf,
  nameStep,
  openStepsIn,
  whyUnanswered,
  type OpenStep,
} from './journal.ts'
import { conversationOf, type LoadedRecord } from './loaded-record.ts'
import type { LogFault, Store } from '../../store/index.ts'
import type { SessionReader, StartedCall } from '../session.ts'
import { partsOf } from './store-of.ts'

/** What the runs of a session have not finished. All lists are empty if nothing is pending. */
export interface Pending {
  /** The calls without a result in the last turn of the conversation, with their positions in the record. */
  readonly calls: readonly OpenCall[]
  /**
   * The steps of runs that are not recorded yet, in the order in which they started: the run is working, has died, or
   * waits for an approval.
   */
  readonly steps: readonly OpenStep[]
  /** The calls of these steps that were started and have no known result. Their effects are unknown. */
  readonly started: readonly StartedCall[]
  /**
   * The messages to append after an interrupted run, before anything else: the answers of its model as far as they
   * arrived (a cut one is marked), the results of its tools, and an error result for each other call. The error results
   * tell which calls had started and may have had side effects. A cut answer is followed by a `developer` message.
   *
   * Empty while the run is working, which means that it held the lease when this handle last checked. `refresh` checks
   * again.
   */
  readonly messages: readonly Message[]
}

/** The options of `pending`. */
interface PendingOptions {
  /** The text of each error result, which the model reads. Default: what is known about each call. */
  readonly reason?: string | undefined
}

/**
 * What the runs of a session have not finished, and the messages that settle it.
 *
 * Cost    O(last turn), and O(notes and messages since the last call); `messages` also O(notes), and O(record) if a step
 *         is pending. Each list is computed when it is read
 *
 * @param session the session
 * @param options the text of the error results
 * @returns the calls, steps and messages of the record as it is when they are read
 * @throws TypeError if the value is not a session
 * @example
 * await session.append(pending(session).messages)
 */
export const pending = (session: SessionReader, options: PendingOptions = {}): Pending => {
  const made = partsOf(session)
  if (made === undefined) throw new TypeError(`pending takes a session, found ${describe(session)}`)
  const { record } = made
  const { reason } = optionsOf('pending', options, { reason: true })
  return Object.freeze<Pending>({
    get calls() {
      return openCallsIn(record)
    },
    get steps() {
      return openStepsIn(record)
    },
    get started() {
      return startedCallsIn(record)
    },
    get messages() {
      return settlingMessages(record, reason)
    },
  })
}

/** The pending steps of a session; none of an object that only has some of a session's methods. */
export const openStepsOf = (session: object): readonly OpenStep[] => {
  const made = partsOf(session)
  return made === undefined ? [] : openStepsIn(made.record)
}

/** The open calls of the last assistant message, if only tool results follow it. */
const openCallsIn = (record: LoadedRecord): readonly OpenCall[] => {
  const conversation = conversationOf(record)
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
const endedStepsIn = (record: LoadedRecord): readonly OpenStep[] =>
  openStepsIn(record).filter(({ lease = 0 }) => lease <= record.endedLeases)

const settlingMessages = (record: LoadedRecord, reason: string | undefined): readonly Message[] => {
  const started = new Set<string>()
  for (const note of record.notes.view()) if (note.type === 'tool_started') started.add(note.callId)
  const resultText = (call: OpenCall): string => reason ?? (started.has(call.id) ? interruptedTool : interruptedCall)
  const ended = endedStepsIn(record)
  const callIds = ended.length === 0 ? new Set<string>() : callIdsIn(record.history.view())
  const messages = [
    ...openCallsIn(record).flatMap((call) => interruptedResults([call], resultText(call))),
    ...ended.flatMap((step) =>
      nameStep(step, messagesOf(step, callIds, reason === undefined ? whyUnanswered : () => reason)),
    ),
  ]
  const last = messages.at(-1)
  return Object.freeze(last?.role === 'assistant' && isCut(last) ? [...messages, cutAnswerNotice(reason)] : messages)
}

/** The started calls without a known result, of all unrecorded steps. */
const startedCallsIn = (record: LoadedRecord): readonly StartedCall[] => {
  const calls: StartedCall[] = []
  for (const { answer, said: content, started, results } of openStepsIn(record)) {
    const message = answer ?? { role: 'assistant', content: content.filter((part) => typeof part !== 'string') }
    for (const { id, name, arguments: text } of callsOf(message))
      if (started.has(id) && !results.has(id)) calls.push(Object.freeze({ callId: id, name, arguments: text }))
  }
  return Object.freeze(calls)
}

/**
 * Checks whether the runs of open steps still hold the lease. Without open steps the store is not asked.
 *
 * Cost    one request to the store, or none
 */
export const lookAtLease = async (store: Store, record: LoadedRecord): Promise<Either<LogFault, void>> => {
  const latest = Math.max(0, ...openStepsIn(record).map(({ lease = 0 }) => lease))
  if (latest <= record.endedLeases) return right(undefined)
  const live = await store.leaseOf(record.id)()
  if (isLeft(live)) return live
  record.endedLeases = Math.max(record.endedLeases, live.right === undefined ? latest : live.right.number - 1)
  return right(undefined)
}
