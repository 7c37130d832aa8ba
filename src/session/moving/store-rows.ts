/** Stores the rows of an exported record in a log, in pieces. */
import type { Either } from 'fp-ts/lib/Either.js'
import { hasField, describe, isLeft, left, right, ownField, ownFields, present } from '../../json/index.ts'
import { decodeMessage, isErased, type Message, type MessageFault } from '../../message/index.ts'
import { classify, isPageKind, pageKinds, type PageKind } from '../../pages/index.ts'
import type { ExportedRow } from '../record/exported.ts'
import { appendLeaf, type BlockId } from '../../proof/internal.ts'
import { encodeRow, erasedBody, missingBlocks, termsOf, type EncodedRow } from '../../entry/internal.ts'
import type { Head, Store } from '../../store/index.ts'
import {
  headOf,
  nextTurn,
  rangeAt,
  rowLeaf,
  sliceBytes,
  sliceRows,
  Slices,
  type TimedRow,
} from '../../store/internal.ts'
import { callCallback, need, type SignalLike, type Steps } from '../../task/index.ts'
import type { ImportFault, SessionFaultOf } from '../fault.ts'
import { decodeNote, type Note } from '../../notes/internal.ts'
import { noteFaultText } from '../../notes/fault.ts'
import type { RowAtPosition } from './copy-encrypted.ts'
import { reasonsIn, refuseErased } from './erased-before.ts'
import { erasedPartFault } from '../record/rows.ts'
import { blocksNamedBy, bringBlocks } from '../erasing/receipt-blocks.ts'

/** How to import a record. */
export interface ImportOptions {
  /** The id of the new session. Default: the id in the record, or a random UUID. */
  readonly id?: string
  /**
   * Called while rows are stored.
   *
   * @param rows the number of rows stored so far
   */
  readonly progress?: (rows: number) => void
  /** Aborting this signal ends the operation with `Cancelled`. Default: none. */
  readonly signal?: SignalLike
}

/** A row with its time. */
export type TimedExport = ExportedRow & { readonly at: number }

/** What goes with rows to store. */
interface StoringOptions {
  readonly progress?: ImportOptions['progress'] | undefined
  /** The store that has the blocks that the rows name. Default: the destination must have them. */
  readonly from?: Store | undefined
  /** The stubs that replace rows. Default: none. */
  readonly stubs?: readonly RowAtPosition[]
  /** Blocks that are not in `from`, by id. Default: none. */
  readonly blocks?: ReadonlyMap<BlockId, Uint8Array>
}

/** Append rows to a log, in pieces. */
export async function* storeRows(
  store: Store,
  id: string,
  start: Head,
  rows: Iterable<TimedExport>,
  options: StoringOptions,
): Steps<ImportFault, Head> {
  const { progress, from, stubs = [], blocks: blocksById = new Map<BlockId, Uint8Array>() } = ownFields(options)
  const erased = yield* reasonsIn(store)
  const stubAt = new Map(stubs.map(({ position, row }) => [position, row]))
  let position = start.size
  let head = start
  let waiting: TimedEncoded[] = []
  let text = 0
  const flush = async function* (): Steps<ImportFault, void> {
    const { found, bytes } = yield* need(noteBlocks(store, waiting, from, blocksById))
    const attachments = from === undefined ? [] : [...new Set(waiting.flatMap((row) => row.attachments))] // without `from`, the destination store must have them
    const brought = yield* need(missingBlocks(store, attachments, from))
    const encoded = waiting.map(({ row, named }) =>
      named.length === 0 ? row : { ...row, blocks: named.filter((id) => found.has(id)) },
    )
    yield* refuseErased(erased, head.size, encoded, store)
    const appended = yield* need(
      store.append(id, {
        expected: head,
        rows: encoded,
        blocks: [...waiting.flatMap(({ blocks }) => blocks), ...brought, ...bytes],
        terms: termsOf,
      }),
    )
    // In a store with keys the blocks that receipts name are blocks of their own.
    const others = new Set(waiting.flatMap(({ named }) => named.filter((id) => !found.has(id))))
    if (from !== undefined && store.encryption !== undefined) yield* bringBlocks(from, store, [...others])
    head = appended.head
    waiting = []
    text = 0
    yield* need(callCallback('progress', () => void progress?.(head.size)))
    await nextTurn()
  }
  let index = 0
  for (const row of rows) {
    const encoded = yield* need(encodedOf(row, store, index))
    const stub = stubAt.get(position++)
    waiting.push(stub === undefined ? encoded : { ...encoded, row: stub })
    text += encoded.row.body.length + encoded.blocks.reduce((sum, block) => sum + block.length, 0)
    if (hasField(row, 'message')) index += 1
    if (waiting.length >= sliceRows || text >= sliceBytes) yield* flush()
  }
  if (waiting.length > 0) yield* flush()
  return head
}

/**
 * The blocks that notes name: those that the store gets or has, and the bytes that it lacks. They are stored with the rows,
 * so an erasure or a removal of the rows removes them. An export has none, and other digests in a receipt name no block. In a
 * store with keys only the blocks of kept files are stored with their rows.
 */
const noteBlocks = async (
  store: Store,
  rows: readonly TimedEncoded[],
  from: Store | undefined,
  blocksById: ReadonlyMap<BlockId, Uint8Array>,
): Promise<Either<ImportFault, { readonly found: ReadonlySet<BlockId>; readonly bytes: readonly Uint8Array[] }>> => {
  const own = store.encryption === undefined ? rows : rows.filter(({ row }) => ownField(row, 'blocks') !== undefined)
  const named = [...new Set(own.flatMap((row) => row.named))]
  const other = named.filter((id) => !blocksById.has(id))
  const bytes = named.flatMap((id) => blocksById.get(id) ?? [])
  const found = new Set(named.filter((id) => blocksById.has(id)))
  // A store with keys has no block by the id of its content.
  const there = other.length === 0 || store.encryption !== undefined ? right([]) : await store.hasBlocks(other)()
  if (isLeft(there)) return there
  for (const [index, id] of other.entries()) if (there.right[index] === true) found.add(id)
  const missing = other.filter((id) => !found.has(id))
  const brought = from === undefined || missing.length === 0 ? right([]) : await from.getBlocks(missing)()
  if (isLeft(brought)) return brought
  for (const [index, id] of missing.entries()) {
    const block = brought.right[index]
    if (block === undefined) continue
    found.add(id)
    bytes.push(block)
  }
  return right({ found, bytes })
}

/** The root that a log would have with more rows. Stores nothing. */
export async function* rootWith(
  store: Store,
  id: string,
  { size }: Head,
  rows: Iterable<TimedExport>,
): Steps<ImportFault, string> {
  let range = yield* need(rangeAt(store, id, size))
  let index = 0
  const slices = new Slices()
  for (const row of rows) {
    const encoded = yield* need(encodedOf(row, store, index))
    await slices.next(encoded.row.body.length)
    if (hasField(row, 'message')) index += 1
    range = appendLeaf(range, rowLeaf(encoded.row, store.hash), store.hash)
  }
  return headOf(range, store.hash).root
}

/** A row to store, with its time. */
type TimedEncoded = EncodedRow & {
  readonly row: TimedRow
  /** The blocks that a note names. */
  readonly named: readonly BlockId[]
}

/** @param index names a message in a fault */
export const encodedOf = (
  entry: TimedExport,
  { hash }: Store,
  index: number,
): Either<SessionFaultOf<'InvalidMessage' | 'InvalidNote'>, TimedEncoded> => {
  const row = ownFields(entry)
  const { at, salt, erased } = row
  const moment = { at, ...present({ salt, erased }) }
  const isNote = hasField(row, 'note')
  const encoded = isNote ? encodedNote(row.note) : encodedMessage(row.message, row.page, erased !== undefined, hash)
  if (isLeft(encoded))
    return left(
      encoded.left._tag === 'InvalidNote' ? encoded.left : { _tag: 'InvalidMessage', index, cause: encoded.left },
    )
  const named = isNote ? (ownField(encoded.right.row, 'blocks') ?? blocksNamedBy(row.note)) : []
  return right({ ...encoded.right, row: { ...encoded.right.row, ...moment }, named })
}

const encodedNote = (note: Note): Either<SessionFaultOf<'InvalidNote'>, EncodedRow> => {
  const decoded = decodeNote(note)
  if (isLeft(decoded)) return left({ _tag: 'InvalidNote', reason: noteFaultText(decoded.left) })
  const ids = note.type === 'kept_file' ? note.blocks.map(({ id }) => id) : []
  return right({
    row: { kind: 'note', body: JSON.stringify(note), ...(ids.length > 0 && { blocks: ids }) },
    blocks: [],
    attachments: [],
  })
}

const encodedMessage = (
  input: Message,
  page: PageKind,
  erased: boolean,
  hash: Store['hash'],
): Either<MessageFault, EncodedRow> => {
  const decoded = decodeMessage(input)
  if (isLeft(decoded)) return decoded
  if (!isPageKind(page))
    return left({
      _tag: 'UnexpectedShape',
      path: ['page'],
      expected: `one of ${pageKinds.join(', ')}`,
      found: describe(page),
    })
  const message = decoded.right
  const tagged = page !== classify(message)
  if (!erased) return isErased(message) ? left(erasedPartFault(message)) : encodeRow(message, page, tagged, hash)
  return right({ row: { kind: 'entry', body: erasedBody(message, { page, tagged }) }, blocks: [], attachments: [] })
}
