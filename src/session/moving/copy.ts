/** Copies a session from one store to another. */
import { checkStore } from '../record/store-of.ts'
import { isLeft, right, optionsOf } from '../../json/index.ts'
import type { JsonObject } from '../../json/index.ts'
import type { Head, LogInfo, Store, LogFault, StoreFaultOf, VerifyFault } from '../../store/index.ts'
import {
  ownIdFault,
  headOf,
  isEncryptedLog,
  maxMissed,
  nextTurn,
  ownStore,
  rangeAt,
  refuseUndone,
  sliceRows,
  withSignal,
  type NewLogFault,
  type UpdateFault,
} from '../../store/internal.ts'
import { fail, need, untilFault, type Steps, type Task } from '../../task/index.ts'
import {
  sessionSteps,
  type ImportFault,
  type NoSessionFault,
  type ReadSessionFault,
  type SessionFaultOf,
} from '../fault.ts'
import { isPartialOf, partialMeta, sessionInfo, type SessionInfo } from '../record/metadata.ts'
import type { LoadedRecord } from '../record/loaded-record.ts'
import { erasedEncryptedRowsIn, storeEncrypted, type RowAtPosition } from './copy-encrypted.ts'
import { findLog, loadRecord, type ReadRecord } from '../record/read.ts'
import { bringReceiptBlocks } from '../erasing/receipt-blocks.ts'
import { storeImported, storeSession } from './import.ts'
import { eraseThere, holdThere, erasedRowsIn, recordErasures } from './carry-erasures.ts'
import { rowsOf } from './export.ts'
import { removeUnfinished } from './unfinished.ts'
import { type ImportOptions, type TimedExport, encodedOf, rootWith, storeRows } from './store-rows.ts'

/**
 * Copy a session to another store, under the same id. An interrupted copy, or one that another process is
 * making, is continued. If the rows in the other store are not a prefix of the record, nothing changes, and
 * the fault is `Conflict` if the other session is longer, or `Diverged` if it differs. At the end both
 * heads must be equal; otherwise a row is in a form that this version does not write, and the fault is
 * `OtherHead`, and nothing is added. Until then the copy is not a session.
 *
 * In a store with keys, the copy of a plain session is encrypted. It has another head, and appears
 * when it is complete.
 *
 * The copy has the record, its metadata, the stored files that its messages reference, the blocks
 * that its receipts name, and the session's hold. The receipts of an encrypted session can only be
 * read if both stores have keys (`withKeys`). Without keys those blocks are not copied, and
 * `verifySession` of the copy lists them as missing. The creation time and the operation ids are
 * not copied. A fork gets its own rows, and is held only if it is itself held.
 *
 * A message that has its text although the ledger of its store records its erasure is `DamagedLog`: erase it again. One
 * that the ledger of `to` records as erased is `InvalidRow`: erase it in `from` first.
 *
 * Cost    O(session), in pieces, and O(new rows of the ledger); the record stays in memory meanwhile
 *
 * @param source the source store
 * @param destination the destination store
 * @param id the id of the session
 * @param options a callback for progress, and a signal that ends the copy; calling it again continues it
 * @returns the description of the copy; or a fault
 */
export const copySession = (
  source: Store,
  destination: Store,
  id: string,
  options: Pick<ImportOptions, 'progress' | 'signal'> = {},
): Task<ImportFault, SessionInfo> => {
  checkStore('copySession', source)
  checkStore('copySession', destination)
  const { progress, signal } = optionsOf('copySession', options, { progress: true, signal: true })
  const [from, to] = [withSignal(source, signal), withSignal(destination, signal)]
  return sessionSteps(async function* () {
    const problem = ownIdFault(id)
    if (problem !== undefined) return yield* fail(problem)
    const own = ownStore(to)
    const plain = yield* plainSource(from, own, id)
    if (plain !== undefined) {
      yield* need(refuseUndone(from, id, plain.record.erased))
      return yield* copyIntoKeys(from, own, plain, progress)
    }
    const { head, meta, erased, check, store, ...between } = yield* sourceOf(from, own, id, progress)
    yield* need(refuseUndone(from, id, new Set(erased.map(({ position }) => position))))
    for (;;) {
      const begun = yield* beginCopy(between.from, between.to, id, head)
      const { size } = begun.head
      const coming = erased.filter(({ position }) => position >= size) // rows already copied are erased at the end
      yield* check(begun)
      yield* recordErasures(between.to, id, id, head, coming, between.from)
      const stored = await untilFault(() => store(begun.head))
      if (isLeft(stored)) {
        if (stored.left._tag !== 'Conflict') return yield* fail(stored.left)
        continue // another process is copying it too: check its progress
      }
      const { root } = stored.right
      if (root !== head.root) {
        await removeUnfinished(between.to, id)() // continuing it would be `Diverged`
        return yield* fail(otherHead(id, head, root))
      }
      yield* copyReceiptBlocks(from, own, id)
      yield* eraseThere(between.to, id, head, erased, between.from)
      yield* holdThere(between.from, between.to, id, head)
      return yield* finishCopy(between.to, id, meta)
    }
  }, 'copySession')
}

/** Copy the blocks that receipts of an encrypted session name, if its receipts can be read. */
async function* copyReceiptBlocks(from: Store, to: Store, id: string): Steps<ImportFault, void> {
  if (from.encryption === undefined || to.encryption === undefined) return
  if (!isEncryptedLog(yield* need(from.info(id)))) return
  const opened = await loadRecord(from, id)
  if (!isLeft(opened)) yield* bringReceiptBlocks(from, to, opened.right.record)
  else if (opened.left._tag !== 'NoKey') yield opened.left
}

/** The plain session, if it is to be copied into a store with keys that has no plain copy of it. */
async function* plainSource(from: Store, to: Store, id: string): Steps<ReadSessionFault, ReadRecord | undefined> {
  if (to.encryption === undefined) return
  const found = yield* need(from.info(id))
  if (isEncryptedLog(found)) return
  const there = yield* findLog(to, id)
  return there !== undefined && !isEncryptedLog(there) ? undefined : yield* need(loadRecord(from, id))
}

/**
 * Copies a plain session into a store with keys. The copy is encrypted, so its root differs. A new
 * copy appears when it is complete, like an import; an existing one gets the rows added since.
 */
async function* copyIntoKeys(
  from: Store,
  to: Store,
  { record, log }: ReadRecord,
  progress: ImportOptions['progress'],
): Steps<ImportFault, SessionInfo> {
  const { id, head } = record
  const erased = await erasedRowsIn(rowsOf(record), to)
  const imported = { id, head, rows: rowsOf(record), erased, progress, from }
  const found = yield* findLog(to, id)
  if (found === undefined) return yield* storeSession(to, imported, log.meta)
  const start = found.head
  const same = yield* isBeginning(to, id, start, record)
  if (!same) return yield* fail({ _tag: 'Diverged', id, expected: head, actual: start })
  const rest = {
    ...imported,
    rows: rowsOf(record, start.size),
    erased: erased.filter(({ position }) => position >= start.size),
  }
  const stored = start.size === head.size ? start : yield* storeImported(to, id, start, rest)
  const before = erased.filter(({ position }) => position < start.size)
  yield* eraseThere(to, id, stored, before, from)
  yield* holdThere(from, to, id, stored)
  return yield* need(sessionInfo(yield* need(to.info(id))))
}

/** Whether an encrypted copy's rows are the record's first rows. A row erased on either side counts as equal. */
async function* isBeginning(to: Store, id: string, { size }: Head, record: LoadedRecord): Steps<LogFault, boolean> {
  const rows = rowsOf(record)
  for (let position = 0; position < size;) {
    const read = yield* need(to.read(id, { from: position, to: Math.min(position + sliceRows, size) }))
    for (const row of read) {
      const next = rows.next()
      const encoded = next.done === true ? undefined : encodedOf(next.value, to, position)
      if (encoded === undefined || isLeft(encoded)) return false
      const { kind, body, at, erased } = encoded.right.row
      const isErased = row.erased !== undefined || erased !== undefined
      if (kind !== row.kind || at !== row.at || (!isErased && body !== row.body)) return false
    }
    position += read.length
    await nextTurn()
  }
  return true
}

/** The session to copy, and both stores. */
interface Source {
  readonly from: Store
  readonly to: Store
  readonly head: Head
  readonly meta: JsonObject
  /** The rows that were erased. */
  readonly erased: readonly RowAtPosition[]
  /** Fails before a session, which can't be removed like a partial copy, gets rows that change its head. */
  readonly check: (begun: LogInfo) => Steps<ImportFault, void>
  /** Stores the rows that the copy lacks. */
  readonly store: (start: Head) => Steps<ImportFault, Head>
}

/** The source of a copy. An encrypted session is copied in its stored form. */
async function* sourceOf(
  from: Store,
  to: Store,
  id: string,
  progress: ImportOptions['progress'],
): Steps<ReadSessionFault, Source> {
  const bare = { from: from.encryption?.bare ?? from, to: ownStore(to.encryption?.bare ?? to) }
  const found = yield* need(bare.from.info(id))
  if (isEncryptedLog(found)) {
    const { head, meta } = found
    yield* need(sessionInfo(found)) // checks that it is a session
    const store = (start: Head): ReturnType<Source['store']> =>
      storeEncrypted(bare.from, bare.to, found, start, from.encryption, progress)
    const check = async function* (): Steps<never, void> {} // the stored form is copied
    return { ...bare, head, meta, erased: yield* erasedEncryptedRowsIn(bare.from, found), check, store }
  }
  const { record, log } = yield* need(loadRecord(from, id))
  const { head } = record
  const rows = (start: Head): Iterable<TimedExport> => rowsOf(record, start.size)
  const check = async function* (begun: LogInfo): Steps<ImportFault, void> {
    if (isPartialOf(begun, 'copy')) return
    const root = yield* rootWith(to, id, begun.head, rows(begun.head))
    if (root !== head.root) yield otherHead(id, head, root)
  }
  const store = (start: Head): ReturnType<Source['store']> => storeRows(to, id, start, rows(start), { progress, from })
  const erased = await erasedRowsIn(rowsOf(record), to)
  return { from, to, head, meta: log.meta, erased, check, store }
}

const otherHead = (id: string, { root: expected }: Head, found: string): SessionFaultOf<'OtherHead'> => ({
  _tag: 'OtherHead',
  id,
  expected,
  found,
  copied: true,
})

/** Turns the partial copy into a session. */
async function* finishCopy(
  store: Store,
  id: string,
  meta: JsonObject,
): Steps<UpdateFault | NoSessionFault, SessionInfo> {
  const log = yield* need(store.info(id))
  if (!isPartialOf(log, 'copy')) return yield* need(sessionInfo(log))
  const whole = await store.update(id, { expected: log.version, meta })()
  if (isLeft(whole) && whole.left._tag === 'MetaConflict') return yield* finishCopy(store, id, meta) // another process changed it first
  return yield* need(sessionInfo(yield* need(whole)))
}

type BeginFault =
  | NewLogFault
  | UpdateFault
  | VerifyFault
  | StoreFaultOf<'Conflict'>
  | SessionFaultOf<'UnfinishedSession'>

/** The copy so far. Fails unless it is a prefix of the record. */
async function* beginCopy(from: Store, to: Store, id: string, head: Head): Steps<BeginFault, LogInfo> {
  const found = yield* findLog(to, id)
  if (found !== undefined && isPartialOf(found, 'import'))
    return yield* fail({ _tag: 'UnfinishedSession', id, rows: found.head.size })
  const begun =
    found === undefined ? await to.create({ id, meta: partialMeta('copy'), encrypt: false })() : right(found)
  if (isLeft(begun) && begun.left._tag === 'LogExists') return yield* beginCopy(from, to, id, head)
  const log = yield* need(begun)
  const { head: start } = log
  const common = Math.min(start.size, head.size)
  const here = yield* need(rangeAt(from, id, common))
  const there = yield* need(rangeAt(to, id, common))
  if (headOf(here, from.hash).root !== headOf(there, to.hash).root)
    return yield* fail({ _tag: 'Diverged', id, expected: head, actual: start })
  if (start.size === common) return log
  const missed = yield* need(to.read(id, { from: common, to: Math.min(start.size, common + maxMissed) }))
  return yield* fail({ _tag: 'Conflict', id, expected: head, actual: start, missed })
}
