/**
 * The compact range: the part of a tree needed to append to it and to compute its root. It has the
 * roots of the tree's perfect subtrees, largest first: one for each 1 bit of its size.
 *
 * Source  RFC 6962 §2.1; https://github.com/transparency-dev/merkle, `compact`
 */
import { emptyRoot, nodeHash, portableSha256, type Hash } from './hashes.ts'

/** A tree of `size` leaves, as its peaks. An immutable value: appending returns a new one. */
export interface CompactRange {
  /** The number of leaves. */
  readonly size: number
  /** The roots of its perfect subtrees, from left to right. */
  readonly peaks: readonly Uint8Array[]
}

/** The tree without leaves. */
export const emptyRange: CompactRange = Object.freeze({ size: 0, peaks: Object.freeze([]) })

/**
 * Append a leaf to a tree.
 *
 * The last peak of the result is the root of the largest perfect subtree that ends with this leaf.
 * Store it beside the leaf to restore the peaks of every smaller tree: they end at `peakEnds(size)`.
 *
 * Cost    amortized one hash; as many as the size has trailing 1 bits
 *
 * @param range the tree
 * @param leaf the hash of the leaf
 * @param hash the hash function. Default: `portableSha256`
 */
export const appendLeaf = (
  { size, peaks }: CompactRange,
  leaf: Uint8Array,
  hash: Hash = portableSha256,
): CompactRange => {
  const next = [...peaks]
  addLeaf(next, size, leaf, hash)
  return Object.freeze({ size: size + 1, peaks: Object.freeze(next) })
}

/** Appends in place, to a list of peaks that no other code holds. */
export const addLeaf = (peaks: Uint8Array[], size: number, leaf: Uint8Array, hash: Hash): void => {
  let last = leaf
  for (let rest = size; rest % 2 === 1; rest = (rest - 1) / 2) last = nodeHash(peaks.pop() as Uint8Array, last, hash) // there is a peak for each 1 bit
  peaks.push(last)
}

/**
 * The root of a tree. Cost: one hash less than the number of peaks.
 *
 * @param range the tree
 * @param hash the hash function. Default: `portableSha256`
 * @returns the root: 32 bytes
 */
export const rootOf = ({ peaks }: CompactRange, hash: Hash = portableSha256): Uint8Array => {
  let root = peaks[peaks.length - 1]
  if (root === undefined) return emptyRoot(hash)
  for (let index = peaks.length - 2; index >= 0; index--) root = nodeHash(peaks[index] as Uint8Array, root, hash)
  return root
}

/**
 * The positions where the peaks of a tree end, from left to right. The last one is the size.
 *
 * @param size the number of leaves
 * @returns the position after the last leaf of each peak
 * @example
 * peakEnds(7) // => [4, 6, 7]
 */
export const peakEnds = (size: number): readonly number[] => {
  const ends: number[] = []
  for (let rest = size, bit = 1; rest > 0; rest = Math.floor(rest / 2), bit *= 2) if (rest % 2 === 1) ends.push(bit)
  let end = 0
  return Object.freeze(ends.toReversed().map((width) => (end += width)))
}

/**
 * The root of the tree with these leaves. Cost: O(leaves).
 *
 * @param leaves the hashes of the leaves
 * @param hash the hash function. Default: `portableSha256`
 * @returns the root: 32 bytes
 */
export const treeRoot = (leaves: Iterable<Uint8Array>, hash: Hash = portableSha256): Uint8Array => {
  let range = emptyRange
  for (const leaf of leaves) range = appendLeaf(range, leaf, hash)
  return rootOf(range, hash)
}
