/** Copying an encrypted session: its rows as they are stored, without its keys. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, right } from '../../json/index.ts'
import { lacking } from '../../entry/kit.ts'
import type { AppendFault, BlockFault, Head, LogFault, LogInfo, NewLogFault, Store } from '../../store/index.ts'
import { destroyedKeyLogOf, encryptedRow, encryptionOf, keyLogOf, ownStore, type TimedRow } from '../../store/kit.ts'
import { called, type CallbackThrew } from '../../task/index.ts'

/** How many rows are appended at once. */
const piece = 500

type CopyFault = AppendFault | BlockFault | NewLogFault | CallbackThrew

/**
 * Append the rows of an encrypted log behind those that are there, with the blocks that they reference. The wrapped keys
 * come too, where they are kept in the store that is read.
 *
 * @param encryption that of the store that is read, if it has keys: it wraps keys for another scope
 */
export const storeEncrypted = async (
  from: Store,
  to: Store,
  log: LogInfo,
  start: Head,
  encryption: Store['encryption'],
  progress?: (rows: number) => void,
): Promise<Head | CopyFault> => {
  const { id, head: end } = log
  for (const key of new Set(encryptionOf(log)?.keys)) {
    const fault = await copyKey(from, to, key, id, encryption)
    if (fault !== undefined) return fault
  }
  let head = start
  while (head.size < end.size) {
    const read = await from.read(id, { from: head.size, to: Math.min(head.size + piece, end.size) })()
    if (isLeft(read)) return read.left
    const rows = read.right.map(encryptedRow)
    const brought = await lacking(to, [...new Set(rows.flatMap(({ blocks = [] }) => blocks))], from)
    if (isLeft(brought)) return brought.left
    const appended = await to.append(id, { expected: head, rows, blocks: brought.right })()
    if (isLeft(appended)) return appended.left
    head = appended.right.head
    const told = called('progress', () => progress?.(head.size))
    if (isLeft(told)) return told.left
  }
  return head
}

/** A row, and where it stands. */
export interface PlacedRow {
  readonly position: number
  /** Its place among the rows of its kind. */
  readonly index: number
  readonly row: TimedRow
}

/** The rows of an encrypted log that were erased, as they are stored. */
export const encryptedRowsErased = async (
  from: Store,
  { id, head }: LogInfo,
): Promise<Either<LogFault, readonly PlacedRow[]>> => {
  const found: PlacedRow[] = []
  for (let start = 0; start < head.size; start += piece) {
    const read = await from.read(id, { from: start, to: Math.min(start + piece, head.size) })()
    if (isLeft(read)) return read
    for (const row of read.right)
      if (row.erased !== undefined) found.push({ position: row.position, index: row.index, row: encryptedRow(row) })
  }
  return right(found)
}

/** A key that was destroyed there does not come back. In another scope it is wrapped again. */
const copyKey = async (
  from: Store,
  to: Store,
  name: string,
  of: string,
  encryption: Store['encryption'],
): Promise<CopyFault | undefined> => {
  const id = keyLogOf(name)
  const found = await from.info(id)()
  if (isLeft(found)) return found.left._tag === 'NoSuchLog' ? undefined : found.left
  const destroyed = await to.info(destroyedKeyLogOf(name))()
  if (!isLeft(destroyed)) return undefined
  if (destroyed.left._tag !== 'NoSuchLog') return destroyed.left
  const { meta } = found.right
  const fits = from.scope === to.scope || meta['scope'] === undefined || meta['scope'] === to.scope
  if (!fits && encryption === undefined)
    return {
      _tag: 'NoKey',
      id: of,
      key: name,
      reason: `its key is wrapped for the scope ${JSON.stringify(from.scope)}: to copy it into ${JSON.stringify(to.scope)}, give the store that is read its key ring (withKeys)`,
    }
  const wrapped =
    from.scope === to.scope || encryption === undefined ? right(meta) : await encryption.keyFor(name, of, to.scope)()
  if (isLeft(wrapped)) return wrapped.left
  const created = await ownStore(to).create({ id, meta: wrapped.right, encrypt: false })()
  return isLeft(created) && created.left._tag !== 'LogExists' ? created.left : undefined
}
