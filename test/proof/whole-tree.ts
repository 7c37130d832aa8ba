/** Proofs from all leaves of a tree at once, as RFC 6962 states them. A store reads the roots of subtrees instead. */
import { leafMark } from '../../src/proof/hashes.ts'
import { portableSha256, siblingsOf, subtreesBetween, treeRoot, type Hash } from '../../src/proof/internal.ts'

/**
 * The hash of a leaf's content. Trees take leaves as these hashes.
 *
 * @param content the bytes of the leaf
 * @param hash the hash function. Default: `portableSha256`
 * @returns 32 bytes
 */
export const leafHash = (content: Uint8Array, hash: Hash = portableSha256): Uint8Array => {
  const bytes = new Uint8Array(content.length + 1)
  bytes[0] = leafMark
  bytes.set(content, 1)
  return hash(bytes)
}

/**
 * The hashes on the path from the leaf at `position` to the root of the tree, bottom up.
 *
 * Cost    O(leaves) hashes; the proof has at most log2(leaves) + 1
 *
 * @param position the position of the leaf, from 0
 * @param leaves the hashes of all leaves
 * @param hash the hash function. Default: `portableSha256`
 * @throws RangeError if the tree has no leaf at that position
 */
export const inclusionProof = (
  position: number,
  leaves: readonly Uint8Array[],
  hash: Hash = portableSha256,
): readonly Uint8Array[] =>
  Object.freeze(siblingsOf(position, leaves.length).map(({ start, end }) => treeRoot(leaves.slice(start, end), hash)))

/**
 * The hashes that prove that a tree extends the tree of its first `oldSize` leaves.
 *
 * Cost    O(leaves) hashes; the proof has at most log2(leaves) + 1
 *
 * @param oldSize the number of leaves of the older tree
 * @param leaves the hashes of all leaves
 * @param hash the hash function. Default: `portableSha256`
 * @throws RangeError if `oldSize` is not from 1 to the number of leaves: every tree extends the empty one
 */
export const consistencyProof = (
  oldSize: number,
  leaves: readonly Uint8Array[],
  hash: Hash = portableSha256,
): readonly Uint8Array[] =>
  Object.freeze(
    subtreesBetween(oldSize, leaves.length).map(({ start, end }) => treeRoot(leaves.slice(start, end), hash)),
  )
