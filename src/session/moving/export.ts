/** Exports a session with its notes, times and salts. */
import { pipe } from '#fp-ts/function'
import * as TE from '#fp-ts/TaskEither'
import { checkStore } from '../record/store-of.ts'
import { optionsOf, present } from '../../json/index.ts'
import type { Message } from '../../message/index.ts'
import type { Note } from '../../notes/internal.ts'
import type { RecordExport } from '../record/exported.ts'
import type { Store } from '../../store/index.ts'
import { refuseUndone, withSignal } from '../../store/internal.ts'
import type { Task } from '../../task/index.ts'
import { sessionTask, type ReadSessionFault } from '../fault.ts'
import { metadataOf, rowsIn, type DamagedRow, type LoadedRecord } from '../record/loaded-record.ts'
import { readReadable, type ReadRecord } from '../record/read.ts'
import type { ImportOptions, TimedExport } from './store-rows.ts'

/** A session for an export. */
export interface ExportedSession extends RecordExport {
  /** Damaged rows. A placeholder message replaces each. Absent if there are none. */
  readonly damaged?: readonly DamagedRow[]
}

/**
 * Read a whole session for export; `exportLines` writes it. A message that has its text although the ledger
 * records its erasure is `DamagedLog`: erase it again.
 *
 * Cost    that of opening the session, and O(new rows of the ledger)
 *
 * @param base the store that has it
 * @param id the id of the session
 * @param options a signal that ends the export with `Cancelled`
 * @returns the rows (an iterable: `JSON.stringify` writes none), the metadata and the head (without its root if rows are damaged); or `NoSuchLog`
 */
export const exportSession = (
  base: Store,
  id: string,
  options: Pick<ImportOptions, 'signal'> = {},
): Task<ReadSessionFault, ExportedSession> => {
  checkStore('exportSession', base)
  const { signal } = optionsOf('exportSession', options, { signal: true })
  const store = withSignal(base, signal)
  const exported = pipe(
    () => readReadable(store, id),
    TE.chainFirstW(
      ({ record }) =>
        () =>
          refuseUndone(store, id, record.erased),
    ),
    TE.map((opened) => exportOf(id, opened)),
  )
  return sessionTask(exported, 'exportSession')
}

const exportOf = (id: string, { record, info }: ReadRecord): ExportedSession => {
  const { erasable } = info
  const metadata = metadataOf(record)
  const rows = Object.freeze({ [Symbol.iterator]: () => rowsOf(record) })
  const { size, root } = record.head
  // The stored root covers the encrypted or damaged rows, not the exported ones.
  const head = Object.freeze(info.encrypted || record.damaged.length > 0 ? { size } : { size, root })
  const damaged = Object.freeze([...record.damaged])
  return Object.freeze({ id, metadata, rows, head, erasable, ...(damaged.length > 0 && { damaged }) })
}

/** A note without the keys of its blocks, which open what the store keeps encrypted. */
const withoutKeys = (note: Note): Note =>
  note.type === 'kept_file' && note.blocks.some(({ key }) => key !== undefined)
    ? { ...note, blocks: note.blocks.map(({ id }) => ({ id })) }
    : note

export function* rowsOf(record: LoadedRecord, from = 0): Generator<TimedExport> {
  for (const found of rowsIn(record, from, record.head.size)) {
    const { row, at } = found
    const salt = record.salts.get(row)
    const erased = record.erased.get(row)
    const moment = { at, ...present({ salt, erased }) }
    if (found.kind === 'note') yield { note: withoutKeys(found.note), ...moment }
    else yield { message: found.message as Message, page: found.page, ...moment }
  }
}
