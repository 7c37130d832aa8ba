/** The blocks that receipts name: tools, instructions, and messages that only one call had. No row references them. */
import { isObject, type Json } from '../../json/index.ts'
import type { Note } from '../../notes/kit.ts'
import { isBlockId, type BlockId } from '../../proof/kit.ts'
import type { AppendFault, BlockFault, Store } from '../../store/index.ts'
import { need, type Steps } from '../../task/index.ts'
import type { Mirror } from '../record/mirror.ts'

/** All strings in a receipt's details that have the form of a block id. */
export const blocksNamedBy = (note: Note): readonly BlockId[] => (note.type === 'receipt' ? idsIn(note.details) : [])

/**
 * The blocks that a recorder's receipt or the note of a kept file names. Details of other receipts may contain
 * unrelated digests.
 */
export const recordedBlocks = (note: Note): readonly BlockId[] => {
  if (note.type === 'kept_file') return note.blocks.map(({ id }) => id)
  if (note.type !== 'receipt' || !isObject(note.details) || !Array.isArray(note.details['sent'])) return []
  const { sent, system, tools } = note.details
  return idsIn([sent, system ?? null, tools ?? null])
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
  { notes }: Mirror,
): Steps<AppendFault | BlockFault, void> {
  const named = [...new Set([...notes.view()].flatMap((note) => blocksNamedBy(note as Note)))]
  for (let start = 0; start < named.length; start += rowsAtOnce)
    yield* bringBlocks(from, to, named.slice(start, start + rowsAtOnce))
}

const rowsAtOnce = 200
