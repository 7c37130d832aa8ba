/** Copies an encrypted session: its rows in stored form, without decrypting them. */
import { isLeft } from '../../json/index.ts'
import { missingBlocks } from '../../entry/internal.ts'
import type { Head, LogFault, LogInfo, Store } from '../../store/index.ts'
import {
  destroyedKeyLogOf,
  encryptedRow,
  encryptionOf,
  keyLogOf,
  nextTurn,
  ownStore,
  sliceRows,
  type TimedRow,
} from '../../store/internal.ts'
import { callCallback, fail, need, type Steps } from '../../task/index.ts'
import type { ImportFault } from '../fault.ts'
import { findLog } from '../record/read.ts'
import { reasonsIn, refuseErased } from './erased-before.ts'

/**
 * Append the rows of an encrypted log after those already copied, with the blocks that they
 * reference. Copies the wrapped keys too, if the source store has them.
 *
 * @param encryption the encryption of the source store, if it has keys. It wraps keys for another scope
 */
export async function* storeEncrypted(
  from: Store,
  to: Store,
  log: LogInfo,
  start: Head,
  encryption: Store['encryption'],
  progress?: (rows: number) => void,
): Steps<ImportFault, Head> {
  const { id, head: end } = log
  for (const key of new Set(encryptionOf(log)?.keys)) yield* copyKey(from, to, key, id, encryption)
  const erased = yield* reasonsIn(to)
  let head = start
  while (head.size < end.size) {
    const read = yield* need(from.read(id, { from: head.size, to: Math.min(head.size + sliceRows, end.size) }))
    const rows = read.map(encryptedRow)
    yield* refuseErased(erased, head.size, rows, to)
    const blocks = yield* need(missingBlocks(to, [...new Set(rows.flatMap(({ blocks = [] }) => blocks))], from))
    const appended = yield* need(to.append(id, { expected: head, rows, blocks }))
    head = appended.head
    yield* need(callCallback('progress', () => void progress?.(head.size)))
    await nextTurn()
  }
  return head
}

/** A row and its position. */
export interface RowAtPosition {
  readonly position: number
  /** Its index among the rows of its kind. */
  readonly index: number
  readonly row: TimedRow
}

/** The erased rows of an encrypted log, in stored form. */
export async function* erasedEncryptedRowsIn(
  from: Store,
  { id, head }: LogInfo,
): Steps<LogFault, readonly RowAtPosition[]> {
  const found: RowAtPosition[] = []
  for (let start = 0; start < head.size; start += sliceRows) {
    const read = yield* need(from.read(id, { from: start, to: Math.min(start + sliceRows, head.size) }))
    for (const row of read)
      if (row.erased !== undefined) found.push({ position: row.position, index: row.index, row: encryptedRow(row) })
    await nextTurn()
  }
  return found
}

/** Copies a wrapped key, and wraps it again for another scope. A key that was destroyed in `to` is not restored. */
async function* copyKey(
  from: Store,
  to: Store,
  name: string,
  of: string,
  encryption: Store['encryption'],
): Steps<ImportFault, void> {
  const id = keyLogOf(name)
  const found = yield* findLog(from, id)
  if (found === undefined || (yield* findLog(to, destroyedKeyLogOf(name))) !== undefined) return
  const { meta } = found
  const fits = from.scope === to.scope || meta['scope'] === undefined || meta['scope'] === to.scope
  if (!fits && encryption === undefined)
    return yield* fail({
      _tag: 'NoKey',
      id: of,
      key: name,
      reason: `its key is wrapped for the scope ${JSON.stringify(from.scope)}: to copy it into ${JSON.stringify(to.scope)}, open the source store with its key ring (withKeys)`,
    })
  const wrapped =
    from.scope === to.scope || encryption === undefined ? meta : yield* need(encryption.keyFor(name, of, to.scope))
  const created = await ownStore(to).create({ id, meta: wrapped, encrypt: false })()
  if (isLeft(created) && created.left._tag !== 'LogExists') yield created.left
}
