/**
 * The two hashes of a Merkle tree. Each has a prefix, so that a leaf can't pass for a node, nor a node for a leaf.
 *
 * Source  RFC 6962 §2.1
 */
import { portableSha256, type Hash } from './sha256.ts'

/** The byte that precedes a leaf's content in its hash. */
export const leafMark = 0

/**
 * The hash of a node, from the roots of the two subtrees below it.
 *
 * @param left the root of the left subtree
 * @param right the root of the right subtree
 * @param hash the hash function. Default: `portableSha256`
 * @returns 32 bytes
 */
export const nodeHash = (left: Uint8Array, right: Uint8Array, hash: Hash = portableSha256): Uint8Array => {
  const middle = 1 + left.length
  const length = middle + right.length
  const bytes = length === nodeLength ? shared : new Uint8Array(length)
  bytes[0] = 1
  bytes.set(left, 1)
  bytes.set(right, middle)
  return hash(bytes)
}

/**
 * The root of the empty tree.
 *
 * @param hash the hash function. Default: `portableSha256`
 * @returns 32 bytes
 */
export const emptyRoot = (hash: Hash = portableSha256): Uint8Array => hash(new Uint8Array(0))

/**
 * Whether two byte arrays are equal.
 *
 * @param left one array
 * @param right the other array
 * @returns true if they have the same bytes
 */
export const equalBytes = (left: Uint8Array, right: Uint8Array): boolean =>
  left.length === right.length && left.every((byte, index) => byte === right[index])

/** Whether all have the length of a hash. Otherwise two different pairs could be concatenated to the same bytes. */
export const areHashes = (hashes: readonly Uint8Array[], length: number): boolean =>
  length > 0 && hashes.every((hash) => hash.length === length)

/** The length of a prefix and two SHA-256. Nodes of this length share one buffer, which takes half of the time. */
const nodeLength = 65
const shared = new Uint8Array(nodeLength)
