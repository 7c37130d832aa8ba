/** The blocks that receipts name: tools, instructions, and messages that only a call had. No row references them. */
import { isLeft, isObject, type Json } from '../../json/index.ts'
import type { Note } from '../../notes/kit.ts'
import { isBlockId, type BlockId } from '../../proof/kit.ts'
import type { AppendFault, BlockFault, Store } from '../../store/index.ts'
import type { Mirror } from '../record/mirror.ts'

/** Every block that the details of a receipt may name: any text in them that can be the id of one. */
export const blocksNamedBy = (note: Note): readonly BlockId[] => (note.type === 'receipt' ? idsIn(note.details) : [])

/** The blocks that a receipt of the recorder names. Details of others may have digests of something else. */
export const recordedBlocks = (note: Note): readonly BlockId[] => {
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

/** Bring blocks that no row references, as far as they are there. */
export const bringBlocks = async (
  from: Store,
  to: Store,
  ids: readonly BlockId[],
): Promise<AppendFault | BlockFault | undefined> => {
  if (ids.length === 0) return undefined
  const found = await from.getBlocks(ids)()
  if (isLeft(found)) return found.left
  const blocks = found.right.filter((bytes) => bytes !== undefined)
  const put = blocks.length === 0 ? undefined : await to.putBlocks(blocks)()
  return put !== undefined && isLeft(put) ? put.left : undefined
}

/** Bring all blocks that the receipts of a session name, some at a time. */
export const bringReceiptBlocks = async (
  from: Store,
  to: Store,
  { notes }: Mirror,
): Promise<AppendFault | BlockFault | undefined> => {
  const named = [...new Set([...notes.view()].flatMap((note) => blocksNamedBy(note as Note)))]
  for (let start = 0; start < named.length; start += atOnce) {
    const fault = await bringBlocks(from, to, named.slice(start, start + atOnce))
    if (fault !== undefined) return fault
  }
  return undefined
}

const atOnce = 200
