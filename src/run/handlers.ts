/** The handler that makes a run durable in a session. */
import type { Either } from 'fp-ts/lib/Either.js'
import { right } from '../json/index.ts'
import type { ReceiptNote } from '../notes/index.ts'
import type { Session, WriteFault } from '../session/index.ts'
import type { Head } from '../store/index.ts'
import type { RunEvent } from './event.ts'

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
): ((event: RunEvent) => Promise<Either<WriteFault, unknown>>) => {
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
