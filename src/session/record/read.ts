/** Reads a whole session in stored form. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from '../../json/index.ts'
import type { LogFault, LogInfo, Store } from '../../store/index.ts'
import { encryptionOf, ownKeyOf, readSameLog, withoutKeys } from '../../store/internal.ts'
import { need, type Steps } from '../../task/index.ts'
import type { UnreadRows } from '../../entry/internal.ts'
import type { Redactor } from '../../redact/index.ts'
import type { ReadSessionFault } from '../fault.ts'
import { inheritedRows, sessionInfo, type SessionInfo } from './metadata.ts'
import { readDamaged } from './damaged.ts'
import { emptyRecord, readUpTo, unreadRows, type LoadedRecord } from './loaded-record.ts'

/** The log with this id; undefined if there is none. */
export async function* findLog(store: Store, id: string): Steps<LogFault, LogInfo | undefined> {
  const found = await store.info(id)()
  return isLeft(found) && found.left._tag === 'NoSuchLog' ? undefined : yield* need(found)
}

/** A session read from the store. */
export interface ReadRecord {
  readonly record: LoadedRecord
  readonly log: LogInfo
  readonly info: SessionInfo
}

/** Like `loadRecord`, but also reads a damaged session: the record in memory lists the damaged rows. */
export const readReadable = async (store: Store, id: string): Promise<Either<ReadSessionFault, ReadRecord>> => {
  const opened = await loadRecord(store, id)
  if (!isLeft(opened) || opened.left._tag !== 'DamagedLog') return opened
  const log = await store.info(id)()
  if (isLeft(log)) return log
  const info = sessionInfo(log.right)
  if (isLeft(info)) return info
  const record = emptyRecord(store, id)
  const read = await readDamaged(store, record, log.right)
  return isLeft(read) ? read : right(describedBy({ record, log: log.right, info: info.right }))
}

/** Reads a session and parses all its messages. */
export const loadRecord = (store: Store, id: string): Promise<Either<ReadSessionFault, ReadRecord>> =>
  recordOf(store, id, (described) => recordAt(store, described, emptyRecord(store, id)))

/** Reads a session, but parses most of its messages only when they are first read. */
export const readUnread = (
  store: Store,
  id: string,
  redactor: Redactor | undefined,
): Promise<Either<ReadSessionFault, ReadRecord>> =>
  recordOf(store, id, (described) => {
    const record = emptyRecord(store, id, redactor)
    return recordAt(store, described, record, unreadRows(record))
  })

/** @param read reads a log into a new record. It is called again if another log with the id takes its place */
const recordOf = async (
  store: Store,
  id: string,
  read: (log: LogInfo) => Promise<Either<ReadSessionFault, ReadRecord>>,
): Promise<Either<ReadSessionFault, ReadRecord>> => {
  const log = await store.info(id)()
  return isLeft(log) ? log : readSameLog(store, log.right, read)
}

const recordAt = async (
  store: Store,
  log: LogInfo,
  record: LoadedRecord,
  unread?: UnreadRows,
): Promise<Either<ReadSessionFault, ReadRecord>> => {
  const { id } = log
  const info = sessionInfo(log)
  if (isLeft(info)) return info
  if (info.right.encrypted && store.encryption === undefined) return left(withoutKeys(id, ownKeyOf(log)))
  // Its metadata could not be decrypted. For an empty log, no row read would report the missing key.
  const hidden = encryptionOf(log)?.keys.at(-1)
  const key = hidden && (await store.encryption?.keyFor(hidden, id, store.scope)())
  if (key && isLeft(key)) return key
  const read = await readUpTo(store, record, log, unread)
  return isLeft(read)
    ? left(sharedFault(read.left, info.right, log))
    : right(describedBy({ record, log, info: info.right }))
}

/** Adds the store's description of the metadata to a local copy. */
const describedBy = (read: ReadRecord): ReadRecord => {
  read.record.described = read.info.metadata
  read.record.inherited = inheritedRows(read.log)
  return read
}

/** For a fork without the key to its shared messages: adds whose messages they are, and that its own can be read. */
const sharedFault = (fault: LogFault, { forkedFrom }: SessionInfo, log: LogInfo): LogFault =>
  fault._tag !== 'NoKey' || forkedFrom === undefined || fault.key === ownKeyOf(log)
    ? fault
    : {
        ...fault,
        reason: `it shares its first ${forkedFrom.at} messages with ${JSON.stringify(forkedFrom.id)}, and for those ${fault.reason}; its own messages, from ${forkedFrom.at} on, can be read (readRange, "indelible show")`,
      }
