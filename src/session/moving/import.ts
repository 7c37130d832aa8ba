/** Imports a record from its export. */
import { checkStore } from '../record/store-of.ts'
import { describe, isObject, optionsOf, ownFields, ownField } from '../../json/index.ts'
import type { JsonObject } from '../../json/index.ts'
import type { Exported, ExportedHead } from '../record/exported.ts'
import type { Head, Store } from '../../store/index.ts'
import { againstOwnId, ownStore } from '../../store/kit.ts'
import { fail, need, type Steps, type Task } from '../../task/index.ts'
import { sessionSteps, type ImportFault } from '../fault.ts'
import { isPartial, partialMeta, sessionInfo, storedMeta, type SessionInfo } from '../record/metadata.ts'
import { findLog } from '../record/read.ts'
import { momentOf } from '../record/stamp.ts'
import type { PlacedRow } from './copy-encrypted.ts'
import { randomId } from '../opening/open.ts'
import { type ImportOptions, type TimedExport, isTimed, storeRows, withTime } from './store-rows.ts'
import { type Reasons, rowsErased, sayErased } from './carry-erasures.ts'

/**
 * Store an exported record as a session, row by row: the same record with the same head, or `OtherHead`, and then nothing
 * is kept. Rows without a time get that of the import; the root that the record states is not compared then.
 *
 * An export does not have the stored files that its messages reference. They must be in the store, or it is
 * `MissingBlock`.
 *
 * The rows go into a log of the import's own, `indelible.import.` and a random UUID. When it is complete, the session is
 * forked from it and the log is removed. So the session appears at one moment, or not at all. Several imports of one id may
 * run at once: one stores the session, and the others get `LogExists`. An import removes only the log that it created. A
 * killed import leaves its log behind; `listUnfinished` names it.
 *
 * Cost    O(record), in pieces
 *
 * @param given the store to write
 * @param record the record, as `exportSession` gives it. Its rows are read at once; their messages must not change meanwhile
 * @param options the id, and a callback for progress
 * @returns the description of the session; or `LogExists`, `MissingBlock`, `OtherHead`
 */
export const importRecord = (
  given: Store,
  record: Exported,
  options: ImportOptions = {},
): Task<ImportFault, SessionInfo> => {
  checkStore('importRecord', given)
  const store = ownStore(given)
  if (
    !isObject(record) ||
    typeof (record.rows as Partial<typeof record.rows> | undefined)?.[Symbol.iterator] !== 'function'
  )
    throw new TypeError(`importRecord takes a record, as exportSession gives it, found ${describe(record)}`)
  const { id, progress } = optionsOf('importRecord', options, knownOfImport)
  const { head } = record
  const rows = [...record.rows] // it may give them only once
  return sessionSteps(async function* () {
    const name = id ?? record.id ?? randomId()
    const problem = againstOwnId(name)
    if (problem !== undefined) return yield* fail(problem)
    const meta = yield* need(storedMeta(record.metadata, undefined, ownField(record, 'erasable')))
    yield* expectFree(store, name)
    const now = yield* need(momentOf(store))
    const log = `${importPrefix}${randomId()}`
    const created = yield* need(store.create({ id: log, meta: partialMeta('import'), encrypt: true }))
    const timed = { [Symbol.iterator]: () => withTime(rows, now) }
    try {
      const stored = yield* storeImported(store, log, created.head, {
        id: name,
        head,
        rows: timed,
        erased: rowsErased(timed, store),
        progress,
      })
      return yield* publish(store, log, stored, {
        id: name,
        meta,
        // Encrypted rows have another root, and so have rows that got their time here.
        root: store.encryption === undefined && isTimed(rows) ? head.root : undefined,
      })
    } finally {
      await store.remove(log)() // not what the session shares with it; if it fails, the answer is the same
    }
  }, 'importRecord')
}

export const importPrefix = 'indelible.import.'

/** The contents of an import. */
interface ImportedLog {
  readonly id: string
  readonly head: ExportedHead
  readonly rows: Iterable<TimedExport>
  /** The rows that were erased. */
  readonly erased: readonly PlacedRow[]
  /** Why they were erased. Default: unknown. */
  readonly reasons?: () => Steps<ImportFault, Reasons>
  readonly progress: ImportOptions['progress']
  /** The store that has the files of the messages. Undefined: the store that is written. */
  readonly from?: Store
}

/** Store rows in the log of an import. Stubs of erased rows are encrypted first, and then written to the ledger. */
export async function* storeImported(
  store: Store,
  own: string,
  start: Head,
  imported: ImportedLog,
): Steps<ImportFault, Head> {
  const { id, head, rows, erased, reasons, progress, from } = ownFields(imported)
  const stubs: PlacedRow[] = []
  for (const { position, index, row } of erased) {
    const sealed = store.encryption?.rows(own, { expected: { ...start, size: position }, rows: [row] })
    const [encrypted] = sealed === undefined ? [] : (yield* need(sealed)).rows
    stubs.push({ position, index, row: { ...(encrypted ?? row), at: row.at } })
  }
  yield* sayErased(store, own, id, head, stubs, reasons)
  return yield* storeRows(store, own, start, rows, progress, from, stubs)
}

/** A session of the rows that are stored, if they are what they should be. */
export async function* publish(
  store: Store,
  own: string,
  head: Head,
  { id, meta, root }: { readonly id: string; readonly meta: JsonObject; readonly root: string | undefined },
): Steps<ImportFault, SessionInfo> {
  if (root !== undefined && head.root !== root)
    return yield* fail({ _tag: 'OtherHead', id, expected: root, found: head.root })
  return yield* need(sessionInfo(yield* need(store.fork(own, { id, at: head.size, meta, sameKey: true }))))
}

/** Ends with a fault if there is a log of that id. */
async function* expectFree(store: Store, id: string): Steps<ImportFault, void> {
  const found = yield* findLog(store, id)
  if (found === undefined) return
  yield isPartial(found) ? { _tag: 'UnfinishedSession', id, rows: found.head.size } : { _tag: 'LogExists', id }
}

const knownOfImport = { id: true, progress: true } as const
