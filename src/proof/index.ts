export { appendLeaf, emptyRange, peakEnds, rootOf, treeRoot, type CompactRange } from './compact-range.ts'
export { consistencyProof, verifyConsistency, type Consistency } from './consistency.ts'
export { emptyRoot, equalBytes, leafHash, nodeHash } from './hashes.ts'
export { inclusionProof, siblingsOf, verifyInclusion, type Inclusion, type Subtree } from './inclusion.ts'
