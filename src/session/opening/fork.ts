/** Forks a session: the new session starts with the first messages of another, and shares them. */
import { checkStore } from '../record/store-of.ts'
import { isLeft, optionsOf, present } from '../../json/index.ts'
import type { JsonObject } from '../../json/index.ts'
import type { LogFault, Store, StoredRow, StoreFaultOf } from '../../store/index.ts'
import { copyArgument, ownStore, withoutKeys } from '../../store/internal.ts'
import { sessionSteps, type ForkSessionFault, type OpenForkFault } from '../fault.ts'
import type { Redact } from '../../redact/index.ts'
import { fail, need, type Steps, type Task } from '../../task/index.ts'
import { noteOf } from '../record/loaded-record.ts'
import { redactedMeta, sessionInfo, storedMeta, type SessionInfo } from '../record/metadata.ts'
import { describeSession, openSession, randomId, redactorFor } from './open.ts'
import type { Session } from '../session.ts'

/** The options of a fork. */
export interface ForkOptions {
  /** The number of messages to share. Default: all. */
  readonly at?: number
  /** The id of the new session. Default: a random UUID. */
  readonly id?: string
  /** The metadata of the new session. Default: that of the forked one. */
  readonly metadata?: JsonObject
  /** Removes secrets from what the opened fork writes and from `metadata`, not from shared messages. Default: none. */
  readonly redact?: Redact
}

/**
 * Create a session that starts with the first messages of another and the notes written until then,
 * and open it. You can fork a sealed session; the fork is not sealed.
 *
 * Cost    that of `createFork`, which does not depend on the length, and that of opening the fork: O(shared messages)
 *
 * @param store the store that has the session, and gets the fork
 * @param id the session to fork
 * @param options the number of messages to share, the new id and metadata
 * @returns the new session; or `NoSuchLog`, `LogExists`, `BeyondEnd`. If it can't be opened, no fork remains
 * @example
 * const fork = await forkSession(store, 'build-fix', { at: 2 })
 * await fork.append(user('Try the other file.'))
 */
export const forkSession = (store: Store, id: string, options: ForkOptions = {}): Task<OpenForkFault, Session> => {
  checkStore('forkSession', store)
  const plan = forkPlan(optionsOf('forkSession', options, optionNames))
  return sessionSteps(async function* () {
    const forked = yield* forkRows(store, id, plan)
    const opened = await openSession(store, forked.id, present({ redact: plan.redact }))()
    if (isLeft(opened)) await removeUnread(store, forked)
    return yield* need(opened)
  }, 'forkSession')
}

/** Removes a fork that can't be opened, unless another process appended to it. A failure does not change the result. */
const removeUnread = async (store: Store, { id, head }: SessionInfo): Promise<void> => {
  const found = await store.info(id)()
  if (!isLeft(found) && found.right.head.root === head.root) await ownStore(store).remove(id)()
}

/**
 * Create a fork like `forkSession`, without opening it.
 *
 * Cost    independent of the length: nothing is copied, and no message is read
 *
 * @param store the store that has the session, and gets the fork
 * @param id the session to fork
 * @param options the number of messages to share, the new id and metadata
 * @returns the description of the new session; or `NoSuchLog`, `LogExists`, `BeyondEnd`
 */
export const createFork = (
  store: Store,
  id: string,
  options: ForkOptions = {},
): Task<ForkSessionFault, SessionInfo> => {
  checkStore('createFork', store)
  const plan = forkPlan(optionsOf('createFork', options, optionNames))
  return sessionSteps(() => forkRows(store, id, plan), 'createFork')
}

/** The caller's options, checked and copied. */
const forkPlan = ({ at, id = randomId(), metadata, redact }: ForkOptions) => ({
  at,
  id,
  metadata: copyArgument(metadata),
  redact,
  redactor: redactorFor(redact),
})

async function* forkRows(
  store: Store,
  id: string,
  { at, id: to, metadata, redactor }: ReturnType<typeof forkPlan>,
): Steps<ForkSessionFault, SessionInfo> {
  const from = yield* need(describeSession(store, id))
  const { len } = from
  if (from.encrypted && store.encryption === undefined) return yield* fail(withoutKeys(id, undefined))
  const shared = at ?? len
  const rows = yield* rowsUpTo(store, from, shared)
  const meta = yield* need(
    storedMeta(redactedMeta(redactor, metadata ?? from.metadata), { id, at: shared }, from.erasable, rows),
  )
  return yield* need(sessionInfo(yield* need(store.fork(id, { id: to, at: rows, meta }))))
}

/** The number of rows before the message at a position, or before the seal. */
async function* rowsUpTo(
  store: Store,
  { id, len, head }: SessionInfo,
  at: number,
): Steps<LogFault | StoreFaultOf<'BeyondEnd'>, number> {
  if (!(Number.isInteger(at) && at >= 0 && at <= len)) return yield* fail({ _tag: 'BeyondEnd', id, at, size: len })
  const range =
    at < len ? ({ only: 'entry', from: at, to: at + 1 } as const) : { from: Math.max(0, head.size - 1), to: head.size }
  const [row] = yield* need(store.read(id, range))
  if (row === undefined) return head.size
  if (at < len) return row.position
  return yield* rowsBeforeSeal(store, id, head.size, row)
}

/** The number of rows before the seal, which only changes of the metadata can follow; all rows if there is none. */
async function* rowsBeforeSeal(store: Store, id: string, size: number, last: StoredRow): Steps<LogFault, number> {
  let row: StoredRow | undefined = last
  while (row !== undefined) {
    const note = row.kind === 'note' ? noteOf(row.body) : undefined
    if (note === undefined || isLeft(note)) break
    if (note.right.type === 'seal') return row.position
    if (note.right.type !== 'metadata' || row.position === 0) break
    const earlier: readonly StoredRow[] = yield* need(store.read(id, { from: row.position - 1, to: row.position }))
    row = earlier[0]
  }
  return size
}

const optionNames = { at: true, id: true, metadata: true, redact: true } as const
