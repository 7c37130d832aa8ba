/** The sessions whose calls a rerun answers: the named one, and those that its program recorded beside it. */
import { toolCallsOf, type ToolCallPart } from 'indelible/message'
import { describeSession, openSession, type Session, type SessionInfo } from 'indelible/session'
import type { Store } from 'indelible/store'
import { valueOrUnreadable } from '../sources/place.ts'
import { sessionsIn } from '../sources/sessions.ts'

/** The milliseconds by which another call of the same program, such as one for a title, may come before the first. */
const earlierMs = 5000

/** The sessions of a rerun: the named one is first. */
export const rerunSessions = async (store: Store, id: string): Promise<readonly SessionInfo[]> => {
  const named = await valueOrUnreadable(describeSession(store, id))
  const { client } = named.metadata
  if (named.metadata['import'] !== undefined) return [named] // its times are those of the import
  const isBeside = (session: SessionInfo): boolean =>
    (client !== undefined && session.metadata['client'] === client) ||
    session.forkedFrom?.id === id ||
    (session.created >= named.created - earlierMs &&
      session.appended <= named.appended &&
      session.metadata['import'] === undefined)
  return [named, ...(await sessionsIn(store)).filter((session) => session.id !== id && isBeside(session))]
}

/** The tool calls of a session's answers, in order. */
export const recordedToolCalls = async (store: Store, id: string): Promise<readonly ToolCallPart[]> => {
  const session: Session = await valueOrUnreadable(openSession(store, id))
  const calls = [...session.view()].flatMap((message) => toolCallsOf(message))
  await valueOrUnreadable(session.close())
  return calls
}
