/**
 * Consistency: the first leaves of a tree are exactly the leaves of an older tree.
 *
 * Source  RFC 6962 §2.1.2; RFC 9162 §2.1.4.2 for the verification
 */
import { areHashes, equalBytes, nodeHash, portableSha256, type Hash } from './hashes.ts'
import { largestPowerBelow, type Subtree } from './inclusion.ts'

/**
 * The subtrees whose roots prove that a tree of `size` leaves extends the tree of its first
 * `oldSize`. Use this if you store roots and don't want to read every leaf.
 *
 * @param oldSize the number of leaves of the older tree
 * @param size the number of leaves of the newer tree
 * @returns the subtrees, in the order of the proof
 * @throws RangeError if `oldSize` is not from 1 to `size`
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
  // The remaining subtree ends the old tree. If it is the whole old tree, the verifier has its root.
  if (start > 0) subtrees.push({ start, end })
  return Object.freeze(subtrees.toReversed())
}

/** The input of `verifyConsistency`: two trees and a proof. */
interface Consistency {
  /** The number of leaves of the older tree. */
  readonly oldSize: number
  /** Its root: 32 bytes. */
  readonly oldRoot: Uint8Array
  /** The number of leaves of the newer tree. */
  readonly size: number
  /** Its root: 32 bytes. */
  readonly root: Uint8Array
  /** The roots of the subtrees that `subtreesBetween` names. */
  readonly proof: readonly Uint8Array[]
}

/**
 * Whether a proof shows that the tree with `root` extends the tree with `oldRoot`. Never throws. An
 * empty older tree is rejected, because every tree extends it.
 *
 * @param consistency the two trees and the proof
 * @param hash the hash function. Default: `portableSha256`
 * @returns true if the proof is valid
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
  const perfect = node === 0 // the old tree is a subtree of the new one, so its root starts both paths
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
