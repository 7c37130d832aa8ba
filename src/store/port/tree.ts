/** The tree of a log: its heads, and the range from which it grows. */
import { hexOf, peakEnds, rootOf, type Hash, type CompactRange } from '../../proof/internal.ts'
import { Damaged } from './damage-error.ts'
import type { Head } from './row.ts'

export { grow, rowLeaf, type GrownTree } from '../../proof/internal.ts'

/**
 * The head of a log with this tree. Cost: as many hashes as the size has 1 bits.
 *
 * @param range the tree
 */
export const headOf = (range: CompactRange, hash: Hash): Head =>
  Object.freeze({ size: range.size, root: hexOf(rootOf(range, hash)) })

/**
 * The range stored beside a head, from which the log grows. It is checked against the head:
 * otherwise an append to a wrong range would be acknowledged and make the log unreadable.
 *
 * Throws  Damaged
 */
export const rangeOf = ({ size, root }: Head, peaks: readonly Uint8Array[], hash: Hash): CompactRange => {
  const range = { size, peaks }
  if (peaks.length !== peakEnds(size).length || headOf(range, hash).root !== root)
    throw new Damaged(size, 'the peaks stored beside its head do not match it')
  return range
}
