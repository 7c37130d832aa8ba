/**
 * Consistency: that the first leaves of a tree are, unaltered and in order, the leaves of an older tree.
 *
 * Source  RFC 6962 §2.1.2; RFC 9162 §2.1.4.2 for the verification
 */
import { portableSha256, type Hash } from './sha256.ts'
import { treeRoot } from './compact-range.ts'
import { areHashes, equalBytes, nodeHash } from './hashes.ts'
import { largestPowerBelow, type Subtree } from './inclusion.ts'

/**
 * The hashes that show that the tree with these leaves extends the tree of its first `oldSize`.
 *
 * Cost    O(leaves) hashes; the proof has at most log2(leaves) + 1
 * Throws  RangeError, if `oldSize` is not from 1 to the number of leaves: everything extends the empty tree
 */
export const consistencyProof = (
  oldSize: number,
  leaves: readonly Uint8Array[],
  hash: Hash = portableSha256,
): readonly Uint8Array[] =>
  Object.freeze(
    subtreesBetween(oldSize, leaves.length).map(({ start, end }) => treeRoot(leaves.slice(start, end), hash)),
  )

/**
 * The subtrees whose roots prove that a tree of `size` leaves extends the tree of its first `oldSize`, in the order of the
 * proof. For a caller that keeps roots and need not look at every leaf.
 *
 * Throws  RangeError, if `oldSize` is not from 1 to `size`
 */
export const subtreesBetween = (oldSize: number, size: number): readonly Subtree[] => {
  if (!Number.isSafeInteger(oldSize) || oldSize < 1 || oldSize > size)
    throw new RangeError(`an older tree has from 1 to ${size} leaves, not ${oldSize}`)
  const subtrees: Subtree[] = []
  let start = 0
  let end = size
  while (end !== oldSize) {
    const middle = start + largestPowerBelow(end - start)
    if (oldSize <= middle) {
      subtrees.push({ start: middle, end })
      end = middle
    } else {
      subtrees.push({ start, end: middle })
      start = middle
    }
  }
  // The old tree ends with the subtree that is left. Where that is all of the old tree, the verifier has its root.
  if (start > 0) subtrees.push({ start, end })
  return Object.freeze(subtrees.toReversed())
}

/** What `verifyConsistency` checks: that a tree extends an earlier one. */
export interface Consistency {
  /** How many leaves the earlier tree had. */
  readonly oldSize: number
  /** Its root: 32 bytes. */
  readonly oldRoot: Uint8Array
  /** How many leaves the tree has now. */
  readonly size: number
  /** Its root: 32 bytes. */
  readonly root: Uint8Array
  /** The hashes that `consistencyProof` gave, in order. */
  readonly proof: readonly Uint8Array[]
}

/**
 * Whether the proof shows that the tree with `root` extends the one with `oldRoot`. Never throws. An empty old tree is
 * refused: that something extends it says nothing.
 */
export const verifyConsistency = (
  { oldSize, oldRoot, size, root, proof }: Consistency,
  hash: Hash = portableSha256,
): boolean => {
  if (!Number.isSafeInteger(oldSize) || !Number.isSafeInteger(size) || oldSize < 1 || oldSize > size) return false
  if (oldSize === size) return proof.length === 0 && equalBytes(oldRoot, root)
  if (!areHashes([oldRoot, ...proof], root.length)) return false
  let node = oldSize - 1
  let last = size - 1
  while (node % 2 === 1) {
    node = (node - 1) / 2
    last = Math.floor(last / 2)
  }
  const perfect = node === 0 // the old tree is one subtree of the new: its root starts both paths
  const first = perfect ? oldRoot : proof[0]
  if (first === undefined) return false
  let oldFound = first
  let found = first
  for (let index = perfect ? 0 : 1; index < proof.length; index++) {
    const sibling = proof[index] as Uint8Array
    if (last === 0) return false // more hashes than levels
    if (node % 2 === 1 || node === last) {
      oldFound = nodeHash(sibling, oldFound, hash)
      found = nodeHash(sibling, found, hash)
      while (node % 2 === 0 && node > 0) {
        node /= 2
        last = Math.floor(last / 2)
      }
    } else found = nodeHash(found, sibling, hash)
    node = Math.floor(node / 2)
    last = Math.floor(last / 2)
  }
  return last === 0 && equalBytes(oldFound, oldRoot) && equalBytes(found, root)
}
