/** Forking: another session that starts with the first messages of one, and shares them. */
import { isLeft, left, right, optionsOf } from '../../json/index.ts'
import type { JsonObject } from '../../json/index.ts'
import type { LogFault, Store, StoreFaultOf } from '../../store/index.ts'
import { copyArgument, withoutKeys } from '../../store/kit.ts'
import { sessionTask, type ForkSessionFault, type OpenForkFault } from '../fault.ts'
import { createRedactor, type Redact, type Redactor } from '../../redact/index.ts'
import type { Task } from '../../task/index.ts'
import type { Either } from 'fp-ts/lib/Either.js'
import { noteOf } from '../record/mirror.ts'
import { redactedMeta, sessionInfo, storedMeta, type SessionInfo } from '../record/metadata.ts'
import { describeSession, openSession, randomId } from './open.ts'
import type { Session } from '../session.ts'

/** The place and the id of a fork. */
export interface ForkOptions {
  /** The number of messages to share. Default: all. */
  readonly at?: number
  /** The id of the new session. Default: a random UUID. */
  readonly id?: string
  /** The metadata of the new session. Default: that of the forked one. */
  readonly metadata?: JsonObject
  /** Takes secrets out of what the opened fork writes, and of `metadata`. The shared messages stay. Default: nothing. */
  readonly redact?: Redact
}

/**
 * Start a session with the first messages of another and the notes that were written until then, and open it. You may
 * fork a sealed session: the fork is not sealed.
 *
 * Cost    that of `createFork`, which is the same at any length, and that of opening the fork: O(messages that it shares)
 *
 * @param store the store that keeps both
 * @param id the session to fork
 * @param options the number of messages to share, the new id and metadata
 * @returns the new session; or `NoSuchLog`, `LogExists`, `BeyondEnd`
 * @example
 * const fork = await forkSession(store, 'build-fix', { at: 2 })
 * await fork.append(user('Try the other file.'))
 */
export const forkSession = (store: Store, id: string, options: ForkOptions = {}): Task<OpenForkFault, Session> => {
  const { redact, ...rest } = optionsOf('forkSession', options, known)
  const plan = forkPlan(optionsOf('forkSession', rest), redact)
  return sessionTask(async () => {
    const forked = await fork(store, id, plan)
    if (isLeft(forked)) return forked
    return openSession(store, forked.right.id, redact === undefined ? {} : { redact })()
  }, 'forkSession')
}

/**
 * The same without opening the fork.
 *
 * Cost    independent of the length: nothing is copied, and no message is read
 *
 * @param store the store that keeps both
 * @param id the session to fork
 * @param options the number of messages to share, the new id and metadata
 * @returns the description of the new session; or `NoSuchLog`, `LogExists`, `BeyondEnd`
 */
export const createFork = (
  store: Store,
  id: string,
  options: ForkOptions = {},
): Task<ForkSessionFault, SessionInfo> => {
  const { redact, ...rest } = optionsOf('createFork', options, known)
  const plan = forkPlan(optionsOf('forkSession', rest), redact)
  return sessionTask(async () => fork(store, id, plan), 'createFork')
}

/** A fork to be made: the caller's options, copied. */
interface ForkPlan {
  readonly at: number | undefined
  readonly metadata: JsonObject | undefined
  readonly id: string
  readonly redactor: Redactor | undefined
}

const forkPlan = (
  { at, id = randomId(), metadata }: Pick<ForkOptions, 'at' | 'id' | 'metadata'>,
  redact: Redact | undefined,
): ForkPlan => ({
  id,
  redactor: redact === undefined ? undefined : createRedactor(redact),
  at,
  metadata: metadata === undefined ? undefined : copyArgument(metadata),
})

const fork = async (
  store: Store,
  id: string,
  { at, id: to, metadata, redactor }: ForkPlan,
): Promise<Either<ForkSessionFault, SessionInfo>> => {
  const from = await describeSession(store, id)()
  if (isLeft(from)) return from
  const { len } = from.right
  if (from.right.encrypted && store.encryption === undefined) return left(withoutKeys(id, undefined))
  const shared = at ?? len
  const rows = await rowsUpTo(store, from.right, shared)
  if (isLeft(rows)) return rows
  const meta = storedMeta(
    redactedMeta(redactor, metadata ?? from.right.metadata),
    { id, at: shared },
    from.right.erasable,
  )
  if (isLeft(meta)) return meta
  const log = await store.fork(id, { id: to, at: rows.right, meta: meta.right })()
  return isLeft(log) ? log : sessionInfo(log.right)
}

/** How many rows of the log there are before the message at a position, or before the seal. */
const rowsUpTo = async (
  store: Store,
  { id, len, head }: SessionInfo,
  at: number,
): Promise<Either<LogFault | StoreFaultOf<'BeyondEnd'>, number>> => {
  if (!(Number.isInteger(at) && at >= 0 && at <= len)) return left({ _tag: 'BeyondEnd', id, at, size: len })
  const range =
    at < len ? ({ only: 'entry', from: at, to: at + 1 } as const) : { from: Math.max(0, head.size - 1), to: head.size }
  const read = await store.read(id, range)()
  if (isLeft(read)) return read
  const [row] = read.right
  if (row === undefined) return right(head.size)
  if (at < len) return right(row.position)
  const note = row.kind === 'note' ? noteOf(row.body) : undefined
  return right(note !== undefined && !isLeft(note) && note.right.type === 'seal' ? row.position : head.size)
}

const known = { at: true, id: true, metadata: true, redact: true, key: true } as const
