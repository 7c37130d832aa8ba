/** The handler that makes a run durable in a session. */
import type { Either } from 'fp-ts/lib/Either.js'
import { right } from '../json/index.ts'
import type { ReceiptNote } from '../notes/index.ts'
import type { Session, WriteFault } from '../session/index.ts'
import type { Head } from '../store/index.ts'
import type { RunEvent } from './event.ts'

/**
 * A handler that stores each delta in a session before the next step starts. After a retry or a crash, a delta that
 * comes
 * again is stored once: its id is the operation id. Before a tool runs, it stores a note (`tool_started`). When the
 * step is
 * over, it stores the answer with the results. If the run dies in between, `session.interrupted()` uses the notes to
 * say
 * which calls may have had effects. A conflict with another writer, or a store that fails, ends the run.
 *
 * In a run with `receipts`, each model call leaves a `receipt` note, also an interrupted one. The note has the head of
 * the
 * record at that moment: `session.at(receipt.head)` gives the record that the context was derived from.
 *
 * @param session the session to append to
 * @returns the handler
 * @example
 * await run({ model, view: orThrow(settle(session.conversation())), handlers: [sessionHandler(session)] }).result()
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
