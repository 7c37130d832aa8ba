/** Handlers that keep the deltas of a run in memory: in a history, in an array, or collected. */
import type { Either } from 'fp-ts/lib/Either.js'
import { right } from '../json/index.ts'
import { applyDelta, type History, type HistoryDelta, type HistoryFault } from '../history/index.ts'
import type { Message } from '../message/index.ts'
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
