/**
 * Inclusion: a leaf is at a position of a tree. The proof is the few hashes on the path from the leaf to the root.
 *
 * Source  RFC 6962 §2.1.1; RFC 9162 §2.1.3.2 for the verification
 */
import { areHashes, equalBytes, nodeHash, portableSha256, type Hash } from './hashes.ts'

/** A subtree: the leaves from `start` up to, not including, `end`. */
export interface Subtree {
  /** The position of its first leaf. */
  readonly start: number
  /** The position after its last leaf. */
  readonly end: number
}

/**
 * The subtrees whose roots prove the leaf at `position` of a tree, bottom up. Use this if you store
 * roots and don't want to read every leaf.
 *
 * @param position the position of the leaf, from 0
 * @param size the number of leaves
 * @returns the subtrees, in the order of the proof
 * @throws RangeError if the tree has no leaf at that position
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

/** The input of `verifyInclusion`: a leaf, a tree and a proof. */
interface Inclusion {
  readonly position: number
  readonly size: number
  readonly leaf: Uint8Array
  /** The roots of the subtrees that `siblingsOf` names. */
  readonly proof: readonly Uint8Array[]
  /** The root of the tree: 32 bytes. */
  readonly root: Uint8Array
}

/**
 * Whether a proof shows that a leaf is at a position of a tree. Never throws.
 *
 * @param inclusion the leaf, the tree and the proof
 * @param hash the hash function. Default: `portableSha256`
 * @returns true if the proof is valid
 */
export const verifyInclusion = (
  { position, size, leaf, proof, root }: Inclusion,
  hash: Hash = portableSha256,
): boolean => {
  if (!Number.isSafeInteger(position) || !Number.isSafeInteger(size) || position < 0 || position >= size) return false
  if (!areHashes([leaf, ...proof], root.length)) return false
  let node = position
  let last = size - 1 // the last node of the level: without a right sibling, it moves up unchanged
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

/** The largest power of two below a size: the width of a tree's left subtree. */
export const largestPowerBelow = (size: number): number => {
  let power = 1
  while (power * 2 < size) power *= 2
  return power
}
