/** Leaves, trees and proofs depend on the rows alone, whatever is added to prototypes. */
import { expect, it } from 'vitest'
import {
  appendLeaf,
  blockIdOf,
  digestOf,
  emptyRange,
  grow,
  hashRow,
  isBlockId,
  portableSha256 as hash,
  rootOf,
  rowLeaf,
  treeRoot,
  verifyConsistency,
  verifyInclusion,
} from '../../src/proof/internal.ts'
import { consistencyProof, inclusionProof, leafHash } from './whole-tree.ts'
import { changedBy } from '../pollution.ts'

it('nothing that proof does reads a property of a prototype', () => {
  const bytes = new TextEncoder().encode('a')
  const run = (): unknown => {
    const leaves = Array.from({ length: 5 }, (_, index) => leafHash(new Uint8Array([index])))
    const { range, nodes } = grow(emptyRange, leaves, hash)
    const root = rootOf(range, hash)
    const inclusion = inclusionProof(2, leaves)
    const consistency = consistencyProof(3, leaves)
    return [
      rowLeaf({ kind: 'note', body: 'a', at: 7 }, hash),
      hashRow({ kind: 'entry', body: 'a', at: 7, salt: undefined, erased: undefined }, [], hash),
      [range, nodes, appendLeaf(range, leafHash(bytes)), root, treeRoot(leaves)],
      [inclusion, consistency],
      [blockIdOf(bytes, hash), digestOf('a'), isBlockId('a'.repeat(64)), isBlockId('role')],
      verifyInclusion({ position: 2, size: 5, leaf: leaves[2] as Uint8Array, proof: inclusion, root }),
      verifyConsistency({ oldSize: 3, oldRoot: treeRoot(leaves.slice(0, 3)), size: 5, root, proof: consistency }),
    ]
  }
  expect(
    changedBy(['salt', 'erased', 'stored', 'kind', 'at', 'body', 'size', 'peaks', 'hash', 'written'], run),
  ).toEqual([])
})
