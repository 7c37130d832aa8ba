/** Creates and opens sessions. */
import { pipe } from '#fp-ts/function'
import * as TE from '#fp-ts/TaskEither'
import { checkStore } from '../record/store-of.ts'
import { isLeft, left, optionsOf, ownFields, right } from '../../json/index.ts'
import type { JsonObject } from '../../json/index.ts'
import type { Store } from '../../store/index.ts'
import { planAppend, rangeAt, withSignal } from '../../store/internal.ts'
import { sessionTask, type CreateSessionFault, type OpenSessionFault, type ReadSessionFault } from '../fault.ts'
import { createRedactor, type Redact, type Redactor } from '../../redact/index.ts'
import type { SignalLike, Task } from '../../task/index.ts'
import { termsOf } from '../../entry/internal.ts'
import { readonlySessionOf, sessionOf } from './handle.ts'
import { redactedMeta, sessionInfo, storedMeta, type SessionInfo } from '../record/metadata.ts'
import { lookAtLease } from '../record/pending.ts'
import { addTimes, emptyRecord } from '../record/loaded-record.ts'
import { readReadable, readUnread } from '../record/read.ts'
import { messageRows } from '../record/rows.ts'
import type { Appendable, PagedMessages, ReadonlySession, SealedSession, Session } from '../session.ts'
import { otherRows } from '../writing/writer.ts'
import { stamp } from '../record/rows.ts'

declare const crypto: { readonly randomUUID: () => string }

export const randomId = (): string => crypto.randomUUID()

/** The options of `openSession`. */
export interface OpenOptions {
  /** Removes secrets from everything that this handle writes. The rules are not stored. Default: nothing is removed. */
  readonly redact?: Redact
}

/** The options of `createSession`. */
export interface SessionOptions extends OpenOptions {
  /** The id: 1 to 255 bytes of UTF-8 without control characters. Default: a random UUID. */
  readonly id?: string
  /** Any JSON object. Names that begin with `indelible.` are reserved. Default: `{}`. */
  readonly metadata?: JsonObject
  /** The first messages, stored in the same commit. A view keeps its page kinds. Default: none. */
  readonly messages?: readonly Appendable[] | PagedMessages
  /** The same as `messages`, named as in `createHistory`. Name one of the two. */
  readonly from?: readonly Appendable[] | PagedMessages
  /** If true, every row gets 16 random bytes, so that nobody can find an erased text by guessing. Default: false. */
  readonly erasable?: boolean
}

/** The first messages of a new session. Throws TypeError if they are named twice. */
export const firstMessages = (
  call: string,
  options: Pick<SessionOptions, 'messages' | 'from'>,
): readonly Appendable[] | PagedMessages => {
  const { messages, from } = ownFields(options)
  if (messages !== undefined && from !== undefined)
    throw new TypeError(`${call}: \`messages\` and \`from\` both name the first messages; pass one of them`)
  return messages ?? from ?? []
}

/** Throws TypeError if a rule is invalid. */
export const redactorFor = (redact: Redact | undefined): Redactor | undefined =>
  redact === undefined ? undefined : createRedactor(redact)

/**
 * Create a session, empty or with its first messages.
 *
 * @param store the store that gets the session
 * @param options id, metadata and first messages
 * @returns the session; or `LogExists` if the store has a session with that id, `InvalidId`, `InvalidMessage`
 * @example
 * const session = await createSession(store, { metadata: { user: 'ada' } })
 */
export const createSession = (store: Store, options: SessionOptions = {}): Task<CreateSessionFault, Session> => {
  checkStore('createSession', store)
  const checked = optionsOf('createSession', options, createOptionNames)
  const first = firstMessages('createSession', checked)
  const redactor = redactorFor(checked.redact)
  return sessionTask(async () => {
    const { id = randomId(), metadata = {}, erasable = false } = checked
    const meta = storedMeta(redactedMeta(redactor, metadata), undefined, erasable)
    if (isLeft(meta)) return meta
    const record = emptyRecord(store, id, redactor)
    const step = messageRows(record, first, undefined, store)
    if (isLeft(step)) return step
    const stamped = stamp(step.right.rows, store, erasable)
    if (isLeft(stamped)) return stamped
    const plan = planAppend(record.range, record.head, stamped.right, store)
    if (isLeft(plan)) return plan
    const { rows, grown } = plan.right
    const encrypted = store.encryption !== undefined
    const log = await store.create({
      id,
      meta: meta.right,
      rows,
      blocks: step.right.blocks,
      terms: termsOf,
      encrypt: true,
    })()
    if (isLeft(log)) return log
    const info = sessionInfo(log.right)
    if (isLeft(info)) return info
    step.right.apply(0)
    addTimes(record, plan.right.rows)
    const { head } = log.right
    if (!encrypted && head.root !== grown.root) return left({ _tag: 'DamagedLog', id, position: 0, reason: otherRows })
    const range = head.root === grown.root ? right(grown.range) : await rangeAt(store, id, head.size)()
    if (isLeft(range)) return left({ _tag: 'Io', operation: 'read the new session', cause: range.left }) // encryption changed the planned rows
    record.range = range.right
    record.head = head
    return right(sessionOf(store, record, log.right, info.right))
  }, 'createSession')
}

/**
 * Open a session to continue it.
 *
 * Opening does not repair the session. If the last turn was interrupted, append `pending(session).messages`.
 *
 * Every row is checked against the head, and the last 128 messages are parsed. Earlier messages are
 * parsed when they are first read. If such a text is not a message, another program must have
 * written it, and the read throws a FaultError with `DamagedLog`.
 *
 * Cost    O(rows): one hash for each (bench: open). The rows are checked against the current head
 *         only; use `verifySession` to check against an earlier one
 *
 * @param store the store that has it
 * @param id the id of the session
 * @param options the redaction of later writes, and a signal that ends the opening with `Cancelled`
 * @returns the session; or `NoSuchLog`, `SessionSealed` if it was sealed, `DamagedLog`, `NewerSession`
 * @example
 * const session = await openSession(store, 'notes')
 */
export const openSession = (
  store: Store,
  id: string,
  options: OpenOptions & { readonly signal?: SignalLike } = {},
): Task<OpenSessionFault, Session> => {
  checkStore('openSession', store)
  const { redact, signal } = optionsOf('openSession', options, { redact: true, signal: true })
  const redactor = redactorFor(redact)
  return sessionTask(async () => {
    const opened = await readUnread(withSignal(store, signal), id, redactor)
    if (isLeft(opened)) return opened
    const { record, log, info } = opened.right
    const looked = await lookAtLease(store, record)
    if (isLeft(looked)) return looked
    return record.sealed
      ? left({ _tag: 'SessionSealed', id, len: record.history.len })
      : right(sessionOf(store, record, log, info))
  }, 'openSession')
}

/**
 * Open a session, sealed or not, to read it.
 *
 * A placeholder message replaces each row that was altered, and `damaged` lists it. All other rows are read
 * normally. `openSession` of such a session fails with `DamagedLog`; to continue it, fork it before the damage.
 *
 * @param store the store that has it
 * @param id the id of the session
 * @param options a signal that ends the reading with `Cancelled`
 * @returns the session without methods that write; or `NoSuchLog`, `NewerSession`
 */
export const readSession = (
  store: Store,
  id: string,
  options: { readonly signal?: SignalLike } = {},
): Task<ReadSessionFault, ReadonlySession | SealedSession> => {
  checkStore('readSession', store)
  const { signal } = optionsOf('readSession', options, { signal: true })
  return sessionTask(async () => {
    const read = await readReadable(withSignal(store, signal), id)
    if (isLeft(read)) return read
    const { record, log, info } = read.right
    const looked = await lookAtLease(store, record)
    return isLeft(looked) ? looked : right(readonlySessionOf(store, record, log, info))
  }, 'readSession')
}

/**
 * Describe a session without reading its messages.
 *
 * @param store the store that has it
 * @param id the id of the session
 * @returns length, head, metadata and times; or `NoSuchLog`, `NotASession`
 */
export const describeSession = (store: Store, id: string): Task<ReadSessionFault, SessionInfo> => {
  checkStore('describeSession', store)
  return sessionTask(pipe(store.info(id), TE.chainEitherKW(sessionInfo)), 'describeSession')
}

const createOptionNames = {
  id: true,
  metadata: true,
  messages: true,
  from: true,
  erasable: true,
  redact: true,
} as const
