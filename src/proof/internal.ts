/** For the other folders and the packages of this repository, which are released together. Not a public API. */
export { type BlockId, blockIdOf, isBlockId } from './block-id.ts'
export { type CompactRange, appendLeaf, emptyRange, peakEnds, rootOf, treeRoot } from './compact-range.ts'
export { subtreesBetween, verifyConsistency } from './consistency.ts'
export { emptyRoot, equalBytes, nodeHash } from './hashes.ts'
export { hexOf } from './sha256.ts'
export { type Subtree, siblingsOf, verifyInclusion } from './inclusion.ts'
export { type GrownTree, type HashedRow, type RowContent, grow, hashRow, rowLeaf } from './row.ts'
export { type Hash, digestOf, digestOfName, portableSha256 } from './sha256.ts'
