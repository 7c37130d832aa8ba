/** Opens a session, or creates it if it does not exist. */
import { isLeft, left, optionsOf, ownFields, present } from '../../json/index.ts'
import { createRedactor } from '../../redact/index.ts'
import type { Store } from '../../store/index.ts'
import { copyArgument } from '../../store/internal.ts'
import type { SignalLike, Task } from '../../task/index.ts'
import { sessionTask, type OpenOrCreateFault } from '../fault.ts'
import { createSession, firstMessages, openSession, type SessionOptions } from './open.ts'
import { listMessages } from '../record/rows.ts'
import type { Session } from '../session.ts'
import { checkStore } from '../record/store-of.ts'

/**
 * Open the session with an id, or create it if the store has none. If several processes call this
 * at once, one creates the session and the others open it.
 *
 * Cost    that of `openSession`, or of `createSession`
 *
 * @param store the store to look in
 * @param id the id of the session
 * @param options `metadata`, `messages` (or `from`) and `erasable` for a new session; `redact` for either; a signal that
 * ends the opening with `Cancelled`
 * @returns the session; or `SessionSealed`, `DamagedLog`, `NewerSession`, `InvalidId`, `InvalidMessage`
 * @throws TypeError if an option is unknown
 * @example
 * const session = await openOrCreateSession(store, 'user-17', { metadata: { user: 'ada' } })
 */
export const openOrCreateSession = (
  store: Store,
  id: string,
  options: Omit<SessionOptions, 'id'> & { readonly signal?: SignalLike } = {},
): Task<OpenOrCreateFault, Session> => {
  checkStore('openOrCreateSession', store)
  const { redact, signal, ...creation } = optionsOf('openOrCreateSession', options, optionNames)
  const opening = redact === undefined ? {} : { redact: createRedactor(redact) }
  const { messages, from, ...others } = ownFields(creation)
  const first = copyArgument(listMessages(firstMessages('openOrCreateSession', present({ messages, from }))))
  const creating = { id, ...copyArgument(others), messages: first, ...opening }
  return sessionTask(async () => {
    for (;;) {
      const opened = await openSession(store, id, { ...opening, ...present({ signal }) })()
      if (!isLeft(opened)) return opened
      if (opened.left._tag !== 'NoSuchLog') return left(opened.left)
      const created = await createSession(store, creating)()
      if (!isLeft(created)) return created
      if (created.left._tag !== 'LogExists') return left(created.left) // otherwise another process created it first
    }
  }, 'openOrCreateSession')
}

const optionNames = { metadata: true, messages: true, from: true, erasable: true, redact: true, signal: true } as const
