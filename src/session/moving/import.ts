/** Imports a record from its export. */
import { checkStore } from '../record/store-of.ts'
import { describe, hasField, isObject, jsonEqual, optionsOf, ownFields, ownField } from '../../json/index.ts'
import type { JsonObject } from '../../json/index.ts'
import type { RecordExport, ExportedHead, ExportedRow } from '../record/exported.ts'
import type { Head, Store } from '../../store/index.ts'
import { ownIdFault, ownStore, withSignal } from '../../store/internal.ts'
import { fail, need, type Steps, type Task } from '../../task/index.ts'
import { sessionSteps, type ImportFault } from '../fault.ts'
import { isPartial, partialMeta, sessionInfo, storedMeta, type SessionInfo } from '../record/metadata.ts'
import { foldMetadata, latestMetadata, type MetadataEntry } from '../record/metadata-notes.ts'
import { findLog } from '../record/read.ts'
import { momentOf } from '../record/rows.ts'
import type { RowAtPosition } from './copy-encrypted.ts'
import { randomId } from '../opening/open.ts'
import { type ImportOptions, type TimedExport, storeRows } from './store-rows.ts'
import { erasedRowsIn, holdThere, recordErasures } from './carry-erasures.ts'

/**
 * Store an exported record as a session, row by row. Its head must equal the export's; otherwise nothing is kept,
 * and the fault is `OtherHead`. Rows without a time get the time of the import; then the root is not compared.
 *
 * A row with a text that this store's ledger records as erased at the same position is `InvalidRow`, and nothing is kept:
 * the export is older than the erasure. The rows of encrypted sessions can't be compared.
 *
 * An export does not contain the stored files that its messages reference. If they are not in the
 * store, the fault is `MissingBlock`.
 *
 * The import writes to a log of its own, named `indelible.import.` and a random UUID. When that log is
 * complete, the session is forked from it and the log is removed, so the session appears at once or not at
 * all. Of several concurrent imports of one id, one stores the session, and the others get `LogExists`. An
 * import removes only its own log. A killed import leaves its log behind; `listUnfinished` lists it.
 *
 * Cost    O(record), in pieces, and O(new rows of the ledger)
 *
 * @param base the destination store
 * @param record the record, as `exportSession` returns it. Its rows are read at once; don't change
 * their messages meanwhile
 * @param options the id, a callback for progress, and a signal that ends the import; nothing of it is kept then
 * @returns the description of the session; or `LogExists`, `MissingBlock`, `OtherHead`, `InvalidRow`
 */
export const importRecord = (
  base: Store,
  record: RecordExport,
  options: ImportOptions = {},
): Task<ImportFault, SessionInfo> => {
  checkStore('importRecord', base)
  if (
    !isObject(record) ||
    typeof (record.rows as Partial<typeof record.rows> | undefined)?.[Symbol.iterator] !== 'function'
  )
    throw new TypeError(`importRecord takes a record from exportSession, found ${describe(record)}`)
  const { id, progress, signal } = optionsOf('importRecord', options, { id: true, progress: true, signal: true })
  const store = ownStore(withSignal(base, signal))
  const { head } = record
  const rows = [...record.rows] // an iterable may yield its rows only once
  return sessionSteps(async function* () {
    const name = id ?? record.id ?? randomId()
    const problem = ownIdFault(name)
    if (problem !== undefined) return yield* fail(problem)
    const inherited = inheritedBy(rows, record.metadata)
    const meta = yield* need(storedMeta(record.metadata, undefined, ownField(record, 'erasable'), inherited))
    yield* expectFree(store, name)
    const now = yield* need(momentOf(store))
    const timed = rows.map((row): TimedExport => ({ at: now, ...row })) // a row without a time gets the current one
    // The root differs if rows are encrypted, or got their time here.
    const root = store.encryption === undefined && rows.every(({ at }) => at !== undefined) ? head.root : undefined
    const imported = { id: name, head, rows: timed, erased: await erasedRowsIn(timed, store), progress }
    return yield* storeSession(store, imported, meta, root)
  }, 'importRecord')
}

/** The number of rows whose metadata is not that of the new session: all, if it gets other metadata than they say. */
const inheritedBy = (rows: readonly ExportedRow[], metadata: JsonObject): number => {
  const entries: MetadataEntry[] = []
  for (const [at, row] of rows.entries())
    if (hasField(row, 'note') && isObject(row.note)) foldMetadata(entries, at, row.note)
  const latest = latestMetadata(entries, 0)
  return entries.length === 0 || (latest !== undefined && jsonEqual(latest, metadata)) ? 0 : rows.length
}

/** The contents of an import. */
interface ImportedLog {
  readonly id: string
  readonly head: ExportedHead
  readonly rows: Iterable<TimedExport>
  /** The erased rows. */
  readonly erased: readonly RowAtPosition[]
  readonly progress: ImportOptions['progress']
  /** The store that has the files of the messages, the reasons of the erasures and the hold. Default: the destination store. */
  readonly from?: Store
}

/**
 * Stores a session in a log of the import's own, from which it is forked when that log is complete.
 *
 * @param root the expected root. Default: any
 */
export async function* storeSession(
  store: Store,
  imported: ImportedLog,
  meta: JsonObject,
  root?: string,
): Steps<ImportFault, SessionInfo> {
  const { id, from } = ownFields(imported)
  const own = `indelible.import.${randomId()}`
  const created = yield* need(store.create({ id: own, meta: partialMeta('import'), encrypt: true }))
  try {
    const head = yield* storeImported(store, own, created.head, imported)
    if (from !== undefined) yield* holdThere(from, store, id, head, own)
    if (root !== undefined && head.root !== root)
      return yield* fail({ _tag: 'OtherHead', id, expected: root, found: head.root })
    return yield* need(sessionInfo(yield* need(store.fork(own, { id, at: head.size, meta, sameKey: true }))))
  } finally {
    await store.remove(own)() // keeps the rows shared with the session; a failure does not change the result
  }
}

/** Store rows in an import's log. Stubs of erased rows are encrypted before they are recorded in the ledger. */
export async function* storeImported(
  store: Store,
  own: string,
  start: Head,
  imported: ImportedLog,
): Steps<ImportFault, Head> {
  const { id, head, rows, erased, progress, from } = ownFields(imported)
  const stubs: RowAtPosition[] = []
  for (const { position, index, row } of erased) {
    const sealed = store.encryption?.rows(own, { expected: { ...start, size: position }, rows: [row] })
    const [encrypted] = sealed === undefined ? [] : (yield* need(sealed)).rows
    stubs.push({ position, index, row: { ...(encrypted ?? row), at: row.at } })
  }
  yield* recordErasures(store, own, id, head, stubs, from)
  return yield* storeRows(store, own, start, rows, { progress, from, stubs })
}

/** Fails if a log with this id exists. */
async function* expectFree(store: Store, id: string): Steps<ImportFault, void> {
  const found = yield* findLog(store, id)
  if (found === undefined) return
  yield isPartial(found) ? { _tag: 'UnfinishedSession', id, rows: found.head.size } : { _tag: 'LogExists', id }
}
