/** Builds the handles of a session over one local copy of its record and one writer. */
import type { Either } from 'fp-ts/lib/Either.js'
import { checkArgument, isLeft, isObject, optionsOf, ownFields, right, type OptionNames } from '../../json/index.ts'
import type { Head, LogInfo, Store, StoreFault } from '../../store/index.ts'
import { ownKeyOf } from '../../store/internal.ts'
import type { CallbackThrew, TaskFor } from '../../task/index.ts'
import { Appending, noOptions } from '../writing/append.ts'
import { lookAtLease } from '../record/pending.ts'
import { SessionMetadata } from './describe-session.ts'
import { sessionTask, type RefreshFault, type SessionFault } from '../fault.ts'
import { Leases } from '../writing/lease.ts'
import { inheritedRows, redactedName, type ForkPoint, type SessionInfo } from '../record/metadata.ts'
import {
  conversationOf,
  currentMoment,
  metadataOf,
  momentAt,
  type MissedRows,
  type LoadedRecord,
} from '../record/loaded-record.ts'
import type { ReadonlySession, SealedSession, Session, SessionReader } from '../session.ts'
import { handleOf, type Reading } from '../record/store-of.ts'
import { SessionHistory } from '../writing/session-history.ts'
import { Writer } from '../writing/writer.ts'

/** The open handle for a record in memory. `log` is the store's description of the log, `info` the session's. */
export const sessionOf = (store: Store, record: LoadedRecord, log: LogInfo, info: SessionInfo): Session => {
  const leases = new Leases(store, record)
  const ownKey = ownKeyOf(log) ?? null
  const writer = new Writer(leases, record, ownKey)
  const appending = new Appending(store, record, writer)
  let made: SessionHistory | undefined
  const history = (): SessionHistory => (made ??= new SessionHistory(store, record, writer))
  record.erasable = info.erasable === true
  record.encrypted = ownKey !== null
  const described = new SessionMetadata(leases, log, info, record, writer)
  record.described = info.metadata
  record.inherited = inheritedRows(log)
  const reader = readerOf(record, info.forkedFrom)
  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    await writer.close()
    made?.close()
    await described.idle()
    await leases.close()
  }
  return handleOf<Session>({ store, record, open: { leases, writer, appending } }, reader, {
    state: 'open',
    append: (messages, options) =>
      writingMethod('session.append', options, appendOptions, (checked) => appending.append(messages, checked)),
    rebase: (make, options) => {
      checkArgument('session.rebase', typeof make === 'function', 'a function', make)
      return writingMethod('session.rebase', options, rebaseOptions, (checked) => appending.rebase(make, checked))
    },
    pop: (options) => writingMethod('session.pop', options, retractOptions, (checked) => appending.pop(checked)),
    rewind: (to, options) => {
      checkArgument('session.rewind', typeof to === 'number', 'a position', to)
      return writingMethod('session.rewind', options, rewindOptions, (checked) => appending.rewind(to, checked))
    },
    note: (note, options) =>
      writingMethod('session.note', options, noteOptions, (checked) => appending.note(note, checked)),
    update: (recipe, options) => {
      checkArgument('session.update', typeof recipe === 'function', 'a recipe', recipe)
      return writingMethod('session.update', options, leaseRespect, (checked) => described.update(recipe, checked))
    },
    history: () => history().open(),
    flush: () => sessionTask(() => history().flush(), 'session.flush'),
    lease: (options) => {
      const lease = optionsOf('session.lease', options, { holder: true, ttl: true, wait: true, clock: true })
      const holder = redactedName(record.redactor, lease.holder)
      return leases.take(ownFields({ ...lease, holder }), (head) => writer.refresh(head))
    },
    refresh: () => sessionTask(() => refresh(writer, store, record), 'session.refresh'),
    seal: (options) =>
      writingMethod('session.seal', options, leaseRespect, async (checked) => {
        const sealed = await appending.seal(checked)
        return isLeft(sealed) ? sealed : right(sealedHandle(store, record, reader, described))
      }),
    close: () => sessionTask(async () => right(await (closing ??= close())), 'session.close'),
  })
}

const refresh = async (
  writer: Writer,
  store: Store,
  record: LoadedRecord,
): Promise<Either<RefreshFault, MissedRows>> => {
  const missed = await writer.refresh()
  const looked = isLeft(missed) ? missed : await lookAtLease(store, record)
  return isLeft(looked) ? looked : missed
}

/** Makes the task of a method with options. Throws TypeError if the options are not an object, or one is unknown. */
const writingMethod = <O extends object, E extends Either<SessionFault | StoreFault | CallbackThrew, unknown>>(
  call: string,
  options: O | undefined,
  known: OptionNames<O>,
  work: (options: O) => Promise<E>,
): TaskFor<E> => {
  const checked = options === undefined ? (noOptions as O) : optionsOf(call, options, known)
  return sessionTask(() => work(checked), call)
}

/** The handle to read a session, sealed or not. */
export const readonlySessionOf = (
  store: Store,
  record: LoadedRecord,
  log: LogInfo,
  info: SessionInfo,
): ReadonlySession | SealedSession => {
  const reader = readerOf(record, info.forkedFrom)
  const writer = new Writer({ store }, record, ownKeyOf(log) ?? null)
  if (record.sealed)
    return sealedHandle(store, record, reader, new SessionMetadata({ store }, log, info, record, writer))
  return handleOf<ReadonlySession>({ store, record }, reader, {
    state: 'readonly',
    damaged: Object.freeze([...record.damaged]),
    refresh: () => sessionTask(() => refresh(writer, store, record), 'session.refresh'),
  })
}

const sealedHandle = (store: Store, record: LoadedRecord, reader: Reading, metadata: SessionMetadata): SealedSession =>
  handleOf<SealedSession>({ store, record }, reader, {
    state: 'sealed',
    damaged: Object.freeze([...record.damaged]),
    update: (recipe, options) =>
      writingMethod('session.update', options, leaseRespect, (checked) => metadata.update(recipe, checked)),
  })

/** The size of a head that a caller passed. A head that is absent is no request for the current one. */
const sizeOf = (head: unknown): number => {
  checkArgument('session.at', isObject(head), 'a head', head)
  const { size } = head as Pick<Head, 'size'>
  checkArgument('session.at', Number.isSafeInteger(size) && size >= 0, 'a head whose size is a number of rows', size)
  return size
}

const readerOf = (record: LoadedRecord, forkedFrom: ForkPoint | undefined): Reading => ({
  id: record.id,
  forkedFrom,
  view: record.history.view,
  conversation: () => conversationOf(record),
  at: ((...heads: readonly Pick<Head, 'size'>[]) => {
    if (heads.length === 0) return currentMoment(record)
    const size = sizeOf(heads[0])
    return size > record.head.size ? undefined : momentAt(record, size)
  }) as SessionReader['at'],
  notes: () => record.notes.view(),
  head: () => record.head,
  metadata: () => metadataOf(record),
})

const appendOptions = {
  page: true,
  operation: true,
  expectedLen: true,
  expectedConversation: true,
  expectedHead: true,
  respectLease: true,
} as const
const rebaseOptions = { page: true, operation: true, respectLease: true } as const
const noteOptions = { operation: true, expectedLen: true, expectedHead: true, respectLease: true } as const
const retractOptions = { operation: true, expectedHead: true, respectLease: true } as const
const rewindOptions = {
  instead: true,
  page: true,
  operation: true,
  expectedHead: true,
  respectLease: true,
} as const
const leaseRespect = { respectLease: true } as const
