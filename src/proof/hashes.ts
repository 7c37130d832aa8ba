/**
 * The two hashes of a Merkle tree. Each has a prefix, so that a leaf can't pass for a node, nor a node for a leaf.
 *
 * Source  RFC 6962 §2.1
 */
import { lengthOfBytes, bindMethod } from '../json/index.ts'
import { portableSha256, type Hash } from './sha256.ts'

/** The byte that precedes a leaf's content in its hash. */
export const leafMark = 0

/**
 * The hash of a leaf's content. The other functions of this entry take leaves as these hashes.
 *
 * @param content the bytes of the leaf
 * @param hash the hash function. Default: `portableSha256`
 * @returns 32 bytes
 */
export const leafHash = (content: Uint8Array, hash: Hash = portableSha256): Uint8Array => {
  const bytes = new Bytes(lengthOfBytes(content) + 1)
  bytes[0] = leafMark
  put(bytes, content, 1)
  return hash(bytes)
}

/**
 * The hash of a node, from the roots of the two subtrees below it.
 *
 * @param left the root of the left subtree
 * @param right the root of the right subtree
 * @param hash the hash function. Default: `portableSha256`
 * @returns 32 bytes
 */
export const nodeHash = (left: Uint8Array, right: Uint8Array, hash: Hash = portableSha256): Uint8Array => {
  const middle = 1 + lengthOfBytes(left)
  const length = middle + lengthOfBytes(right)
  const bytes = length === nodeLength ? shared : new Bytes(length)
  bytes[0] = 1
  put(bytes, left, 1)
  put(bytes, right, middle)
  return hash(bytes)
}

/**
 * The root of the empty tree.
 *
 * @param hash the hash function. Default: `portableSha256`
 * @returns 32 bytes
 */
export const emptyRoot = (hash: Hash = portableSha256): Uint8Array => hash(new Bytes(0))

/**
 * Whether two byte arrays are equal.
 *
 * @param left one array
 * @param right the other array
 * @returns true if they have the same bytes
 */
export const equalBytes = (left: Uint8Array, right: Uint8Array): boolean => {
  const length = lengthOfBytes(left)
  if (length !== lengthOfBytes(right)) return false
  for (let index = 0; index < length; index++) if (left[index] !== right[index]) return false
  return true
}

/** Whether all have the length of a hash. Otherwise two different pairs could be concatenated to the same bytes. */
export const areHashes = (hashes: readonly Uint8Array[], length: number): boolean =>
  length > 0 && hashes.every((hash) => hash.length === length)

const Bytes = Uint8Array // taken when this module loads
const put: (bytes: Uint8Array, part: Uint8Array, at: number) => void = bindMethod(Uint8Array.prototype.set)

/** The length of a prefix and two SHA-256. Nodes of this length share one buffer, which takes half of the time. */
const nodeLength = 65
const shared = new Bytes(nodeLength)
