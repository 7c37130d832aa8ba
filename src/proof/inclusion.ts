/**
 * Inclusion: that a leaf stands at a position of a tree, shown with the few hashes that lead from it to the root.
 *
 * Source  RFC 6962 §2.1.1; RFC 9162 §2.1.3.2 for the verification
 */
import { portableSha256, type Hash } from './sha256.ts'
import { treeRoot } from './compact-range.ts'
import { areHashes, equalBytes, nodeHash } from './hashes.ts'

/**
 * The hashes that lead from the leaf at `position` to the root of the tree with these leaves, bottom up.
 *
 * Cost    O(leaves) hashes; the proof has at most log2(leaves) + 1
 * Throws  RangeError, if no leaf stands there
 */
export const inclusionProof = (
  position: number,
  leaves: readonly Uint8Array[],
  hash: Hash = portableSha256,
): readonly Uint8Array[] =>
  Object.freeze(siblingsOf(position, leaves.length).map(({ start, end }) => treeRoot(leaves.slice(start, end), hash)))

/** A subtree: the leaves from `start` up to, not including, `end`. */
export interface Subtree {
  /** The position of its first leaf. */
  readonly start: number
  /** The position after its last leaf. */
  readonly end: number
}

/**
 * The subtrees whose roots prove the leaf at `position` of a tree of that size, bottom up. For whoever keeps roots and
 * need not look at every leaf.
 *
 * Throws  RangeError, if no leaf stands there
 */
export const siblingsOf = (position: number, size: number): readonly Subtree[] => {
  if (!Number.isSafeInteger(position) || position < 0 || position >= size)
    throw new RangeError(`there is no leaf at position ${position} of ${size}`)
  const siblings: Subtree[] = []
  let start = 0
  let end = size
  while (end - start > 1) {
    const middle = start + largestPowerBelow(end - start)
    if (position < middle) {
      siblings.push({ start: middle, end })
      end = middle
    } else {
      siblings.push({ start, end: middle })
      start = middle
    }
  }
  return Object.freeze(siblings.toReversed())
}

/** What `verifyInclusion` checks: that a leaf stands in a tree. */
export interface Inclusion {
  /** The position of the leaf. */
  readonly position: number
  /** How many leaves the tree has. */
  readonly size: number
  /** The hash of the leaf. */
  readonly leaf: Uint8Array
  /** The hashes that `inclusionProof` gave, in order. */
  readonly proof: readonly Uint8Array[]
  /** The root of the tree: 32 bytes. */
  readonly root: Uint8Array
}

/** Whether the proof shows that the leaf stands at that position of the tree with that root. Never throws. */
export const verifyInclusion = (
  { position, size, leaf, proof, root }: Inclusion,
  hash: Hash = portableSha256,
): boolean => {
  if (!Number.isSafeInteger(position) || !Number.isSafeInteger(size) || position < 0 || position >= size) return false
  if (!areHashes([leaf, ...proof], root.length)) return false
  let node = position
  let last = size - 1 // the last node of the level: where there is no sibling to its right, it goes up as it is
  let found = leaf
  for (const sibling of proof) {
    if (last === 0) return false // more hashes than levels
    if (node % 2 === 1 || node === last) {
      found = nodeHash(sibling, found, hash)
      while (node % 2 === 0 && node > 0) {
        node /= 2
        last = Math.floor(last / 2)
      }
    } else found = nodeHash(found, sibling, hash)
    node = Math.floor(node / 2)
    last = Math.floor(last / 2)
  }
  return last === 0 && equalBytes(found, root)
}

/** The largest power of two below a size: where a tree of more than one leaf divides. */
export const largestPowerBelow = (size: number): number => {
  let power = 1
  while (power * 2 < size) power *= 2
  return power
}
