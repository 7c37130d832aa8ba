/** The blocks that receipts name: tools, instructions, and messages that only one call had. Rows reference only the instructions of a run. */
import { isObject, ownField, type Json } from '../../json/index.ts'
import type { Note } from '../../notes/internal.ts'
import { isBlockId, type BlockId } from '../../proof/internal.ts'
import type { Store } from '../../store/index.ts'
import { need, type Steps } from '../../task/index.ts'
import type { LoadedRecord } from '../record/loaded-record.ts'
import type { AppendFault, BlockFault } from '../../store/internal.ts'

/** A receipt's instructions, and all strings in its details that have the form of a block id, each once. */
export const blocksNamedBy = (note: Note): readonly BlockId[] =>
  note.type === 'receipt' ? [...new Set([...instructionsBlock(note), ...idsIn(note.details)])] : []

/** The block with the instructions of a receipt. The receipt's row references it, unless the session is encrypted. */
const instructionsBlock = (note: Note): readonly BlockId[] =>
  note.type === 'receipt' ? idsIn(ownField(note, 'instructions')) : []

/**
 * The blocks of a kept file; the instructions of a receipt, and the blocks that a recorder's names. Other details may
 * contain unrelated digests.
 */
export const recordedBlocks = (note: Note): readonly BlockId[] => {
  if (note.type === 'kept_file') return note.blocks.map(({ id }) => id)
  const instructions = instructionsBlock(note)
  if (note.type !== 'receipt' || !isObject(note.details) || !Array.isArray(note.details['sent'])) return instructions
  const { sent, system, tools } = note.details
  return [...instructions, ...idsIn([sent, system ?? null, tools ?? null])]
}

const idsIn = (value: Json | undefined): readonly BlockId[] =>
  isBlockId(value)
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap((inside: Json) => idsIn(inside))
      : []

/** Copy those of these blocks that exist. No row references them. */
export async function* bringBlocks(
  from: Store,
  to: Store,
  ids: readonly BlockId[],
): Steps<AppendFault | BlockFault, void> {
  if (ids.length === 0) return
  const found = yield* need(from.getBlocks(ids))
  const blocks = found.filter((bytes) => bytes !== undefined)
  if (blocks.length > 0) yield* need(to.putBlocks(blocks))
}

/** Copy all blocks that a session's receipts name, in batches. */
export async function* bringReceiptBlocks(
  from: Store,
  to: Store,
  { notes }: LoadedRecord,
): Steps<AppendFault | BlockFault, void> {
  const named = [...new Set([...notes.view()].flatMap((note) => blocksNamedBy(note as Note)))]
  for (let start = 0; start < named.length; start += rowsAtOnce)
    yield* bringBlocks(from, to, named.slice(start, start + rowsAtOnce))
}

const rowsAtOnce = 200
