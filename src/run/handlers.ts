/** Handlers: what is done with the deltas of a run. */
import type { Either } from 'fp-ts/lib/Either.js'
import { right } from '../json/index.ts'
import { applyDelta, type History, type HistoryDelta, type HistoryFault } from '../history/index.ts'
import type { Message } from '../message/index.ts'
import type { ReceiptNote } from '../notes/index.ts'
import type { Session, SessionFault } from '../session/index.ts'
import type { Head, StoreFault } from '../store/index.ts'
import type { RunEvent } from './event.ts'

/**
 * The default: appends the messages of each delta to a history of yours, and does nothing else. You may append to it
 * yourself meanwhile; a delta that comes twice is appended once.
 */
export const historyHandler = (history: History<Message>): ((event: RunEvent) => void) =>
  onDelta((message) => history.append(message))

/**
 * The strict one: each delta must continue the history exactly. A gap, or another message where one should come, is a
 * fault that names the position, and as a handler of the run it ends the run.
 */
export const strictHistoryHandler =
  (history: History<Message>) =>
  (event: RunEvent): Either<HistoryFault, 'applied' | 'duplicate' | 'ignored'> =>
    event.type === 'history_delta' ? applyDelta(history, event) : right('ignored')

/**
 * Makes each delta durable before the next step starts. A delta that comes twice, after a retry or a crash, is stored
 * once: its id is the operation. Before a tool runs, a note says so (`tool_started`). The answer that calls it is recorded
 * with its results, when the step is over; of a run that died in between, the notes are what there is, and
 * `session.interrupted()` says from them which calls may have had effects. Another writer on the session, or a store that fails, ends the run.
 *
 * Of a run with `receipts` each model call leaves a note of what it was sent (`receipt`), one that was cut off too. It has
 * the head of the record at that moment: `session.at(receipt.head)` gives what the context was derived from.
 */
export const sessionHandler = (
  session: Pick<Session, 'append' | 'note' | 'head' | 'len'>,
): ((event: RunEvent) => Promise<Either<SessionFault | StoreFault, unknown>>) => {
  let head: Head | undefined
  return async (event) => {
    if (event.type === 'step_start') head = session.len === event.len ? session.head() : undefined
    if (event.type === 'history_delta')
      return session.append(event.append, { operation: event.id, expectedLen: event.expectedLen })()
    if (event.type === 'tool_call_start')
      return session.note({
        type: 'tool_started',
        callId: event.call.id,
        name: event.call.name,
        arguments: event.call.arguments,
      })()
    const receipt = receiptOf(event, head)
    return receipt === undefined ? right(undefined) : session.note(receipt)()
  }
}

const receiptOf = (event: RunEvent, head: Head | undefined): ReceiptNote | undefined => {
  if ((event.type !== 'step_complete' && event.type !== 'interrupted') || event.sent === undefined) return undefined
  const { parameters, ...sent } = event.sent
  return {
    type: 'receipt',
    ...sent,
    ...(head !== undefined && { head }),
    ...(Object.keys(parameters).length > 0 && { parameters }),
    ...(event.type === 'step_complete' && { usage: event.response.usage }),
  }
}

/** Collects the messages of the deltas: what the run has added so far. */
export const historyAccumulator = (): ((event: RunEvent) => void) & {
  /** The messages so far. */
  readonly messages: () => readonly Message[]
} => {
  const messages: Message[] = []
  return Object.freeze(
    Object.assign(
      onDelta((message) => messages.push(message)),
      { messages: () => Object.freeze([...messages]) },
    ),
  )
}

/** Each message of each delta, once. */
const onDelta = (take: (message: HistoryDelta<Message>['append'][number]) => unknown): ((event: RunEvent) => void) => {
  const seen = new Set<string>()
  return (event) => {
    if (event.type !== 'history_delta' || seen.has(event.id)) return
    seen.add(event.id)
    for (const message of event.append) take(message)
  }
}
