/** Starting a session, and opening one again. */
import { checkStore } from './store-of.ts'
import { isLeft, left, right, optionsOf } from '../json/index.ts'
import type { JsonObject } from '../json/index.ts'
import { planned, type LogInfo, type Store } from '../store/index.ts'
import { sessionTask, type CreateSessionFault, type OpenSessionFault, type ReadSessionFault } from './fault.ts'
import type { Task } from '../task/index.ts'
import type { Either } from 'fp-ts/lib/Either.js'
import { sealedOf, sessionOf } from './handle.ts'
import { sessionInfo, storedMeta, type SessionInfo } from './metadata.ts'
import { lookAtLease } from './cut-off.ts'
import { addTimes, emptyMirror, readUpTo, type Mirror } from './mirror.ts'
import { messageRows } from './rows.ts'
import type { Appendable, ReadonlySession, SealedSession, Session } from './session.ts'
import { stamp } from './stamp.ts'

declare const crypto: { readonly randomUUID: () => string }

export const randomId = (): string => crypto.randomUUID()

/** How a session starts. */
export interface SessionOptions {
  /** The id: 1 to 255 bytes of UTF-8 without control characters. Default: a random UUID. */
  readonly id?: string
  /** Any JSON object. Names that begin with `indelible.` are reserved. Default: `{}`. */
  readonly metadata?: JsonObject
  /** The first messages, stored in the same commit. Default: none. */
  readonly messages?: readonly Appendable[]
  /** True: every row gets 16 random bytes, so that nobody can find an erased text by guessing. Default: false. */
  readonly erasable?: boolean
}

/**
 * Create a session, empty or with its first messages.
 *
 * @param store the store that keeps it
 * @param options id, metadata and first messages
 * @returns the session; or `LogExists` if the store has a session with that id, `InvalidId`, `InvalidMessage`
 * @example
 * const session = await createSession(store, { metadata: { user: 'ada' } })
 */
export const createSession = (store: Store, options: SessionOptions = {}): Task<CreateSessionFault, Session> => {
  checkStore('createSession', store)
  const given = optionsOf('createSession', options, known)
  return sessionTask(async () => {
    const { id = randomId(), metadata = {}, messages = [], erasable = false } = given
    const meta = storedMeta(metadata, undefined, erasable)
    if (isLeft(meta)) return meta
    const mirror = emptyMirror(store, id)
    const step = messageRows(mirror, messages, undefined, store)
    if (isLeft(step)) return step
    const stamped = stamp(step.right.rows, store, erasable)
    if (isLeft(stamped)) return stamped
    const plan = planned(mirror.range, mirror.head, stamped.right, store.hash)
    if (isLeft(plan)) return plan
    const log = await store.create({ id, meta: meta.right, rows: plan.right.rows, blocks: step.right.blocks })()
    if (isLeft(log)) return log
    const info = sessionInfo(log.right)
    if (isLeft(info)) return info
    step.right.apply(0)
    addTimes(mirror, plan.right.rows)
    mirror.range = plan.right.after
    mirror.head = plan.right.head
    return right(sessionOf(store, mirror, log.right, info.right))
  }, 'createSession')
}

/**
 * Open a session to continue it.
 *
 * It repairs nothing. If the last turn was interrupted, append the messages that `session.interrupted()` gives.
 *
 * Cost    O(messages), at most twice that of `JSON.parse` (bench: sessions). It trusts the stored rows; `verifySession`
 *         checks them.
 *
 * @param store the store that keeps it
 * @param id the id of the session
 * @returns the session; or `NoSuchLog`, `SessionSealed` if it has ended, `DamagedLog`, `NewerSession`
 * @example
 * const session = await openSession(store, 'notes')
 */
export const openSession = (store: Store, id: string): Task<OpenSessionFault, Session> => {
  checkStore('openSession', store)
  return sessionTask(async () => {
    const opened = await readMirror(store, id)
    if (isLeft(opened)) return opened
    const { mirror, log, info } = opened.right
    const looked = await lookAtLease(store, mirror)
    if (isLeft(looked)) return looked
    return mirror.sealed
      ? left({ _tag: 'SessionSealed', id, len: mirror.history.len })
      : right(sessionOf(store, mirror, log, info))
  })
}

/**
 * Open a session, sealed or not, to read it.
 *
 * @param store the store that keeps it
 * @param id the id of the session
 * @returns the session without methods that write; or `NoSuchLog`, `DamagedLog`, `NewerSession`
 */
export const readSession = (store: Store, id: string): Task<ReadSessionFault, ReadonlySession | SealedSession> => {
  checkStore('readSession', store)
  return sessionTask(async () => {
    const opened = await readMirror(store, id)
    if (isLeft(opened)) return opened
    const { mirror, log, info } = opened.right
    return right(mirror.sealed ? sealedOf(store, mirror, log, info) : sessionOf(store, mirror, log, info).readonly())
  })
}

/**
 * Describe a session without reading its messages.
 *
 * @param store the store that keeps it
 * @param id the id of the session
 * @returns length, head, metadata and times; or `NoSuchLog`, `NotASession`
 */
export const describeSession = (store: Store, id: string): Task<ReadSessionFault, SessionInfo> => {
  checkStore('describeSession', store)
  return sessionTask(async () => {
    const log = await store.info(id)()
    return isLeft(log) ? log : sessionInfo(log.right)
  })
}

export interface Opened {
  readonly mirror: Mirror
  readonly log: LogInfo
  readonly info: SessionInfo
}

/** A session as it is stored. */
export const readMirror = async (store: Store, id: string): Promise<Either<ReadSessionFault, Opened>> => {
  const log = await store.info(id)()
  if (isLeft(log)) return log
  const info = sessionInfo(log.right)
  if (isLeft(info)) return info
  const mirror = emptyMirror(store, id)
  const read = await readUpTo(store, mirror, log.right)
  return isLeft(read) ? read : right({ mirror, log: log.right, info: info.right })
}

const known = { id: true, metadata: true, messages: true, erasable: true } as const
