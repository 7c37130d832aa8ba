/** The tree of a log: its heads, and the range that a log is continued from. */
import { hexOf, peakEnds, rootOf, type Hash, type CompactRange } from '../../proof/kit.ts'
import { freeze } from '../../json/index.ts'
import { Damaged } from './damaged.ts'
import type { Head } from './row.ts'

export { grow, rowLeaf, type GrownTree } from '../../proof/kit.ts'

/**
 * The head of the log that a range describes. Cost: as many hashes as the size has 1 bits.
 *
 * @param range the tree
 */
export const headOf = (range: CompactRange, hash: Hash): Head =>
  freeze({ size: range.size, root: hexOf(rootOf(range, hash)) })

/**
 * The range that is kept beside a head, which logs are grown from. One that is not of that head would make an acknowledged
 * append the end of the log.
 *
 * Throws  Damaged
 */
export const rangeOf = ({ size, root }: Head, peaks: readonly Uint8Array[], hash: Hash): CompactRange => {
  const range = { size, peaks }
  if (peaks.length !== peakEnds(size).length || headOf(range, hash).root !== root)
    throw new Damaged(size, 'the peaks that are kept beside its head are not of that head')
  return range
}
