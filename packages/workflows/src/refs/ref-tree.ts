/** A reference to a tree of ref chunks. `tree.ts` reads and grows the tree itself. */
import { isBlockId, type BlockId } from 'indelible/internal/proof'

/** A tree of ref chunks, as JSON. */
export interface RefTree {
  /** The id of its root block. */
  readonly id: BlockId
  /** The number of refs. */
  readonly len: number
}

export const isRefTree = (value: unknown): value is RefTree => {
  if (typeof value !== 'object' || value === null) return false
  const { id, len } = value as { readonly id?: unknown; readonly len?: unknown }
  return isBlockId(id) && typeof len === 'number' && Number.isSafeInteger(len) && len > 0
}
