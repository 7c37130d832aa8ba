/** Proofs about a log, from the nodes that the store keeps beside its rows. Few rows are read. */
import { isLeft, left, right } from '../../json/index.ts'
import {
  equalBytes,
  nodeHash,
  peakEnds,
  rootOf,
  siblingsOf,
  subtreesBetween,
  type Hash,
  type Subtree,
} from '../../proof/internal.ts'
import type { Task } from '../../task/index.ts'
import { storeTask, type LogFault } from '../fault.ts'
import type { StoredRow } from '../port/row.ts'
import type { Store } from '../port/store.ts'
import { rowLeaf } from '../port/tree.ts'

/**
 * The hashes on the path from a row to the root of the log's first `size` rows, bottom up.
 *
 * Cost    O(log size) nodes and rows
 *
 * @param row the position of the row, below `size`
 * @param size a number of rows, at most the size of the log
 */
export const inclusionPath = (
  store: Store,
  id: string,
  row: number,
  size: number,
): Task<LogFault, readonly Uint8Array[]> => subtreeRoots(store, id, siblingsOf(row, size))

/**
 * The hashes that prove that the log's first `size` rows extend its first `oldSize`.
 *
 * Cost    O(log size) nodes and rows
 *
 * @param oldSize the earlier size, from 1 to `size`
 * @param size a number of rows, at most the size of the log
 */
export const consistencyPath = (
  store: Store,
  id: string,
  oldSize: number,
  size: number,
): Task<LogFault, readonly Uint8Array[]> => subtreeRoots(store, id, subtreesBetween(oldSize, size))

/**
 * Whether a row is as it was appended, by the nodes stored at its position and before it.
 *
 * @param nodeAt returns the node stored at a position; undefined if it can't be read
 */
export const isInTree = (
  row: StoredRow,
  position: number,
  nodeAt: (position: number) => Uint8Array | undefined,
  hash: Hash,
): boolean => {
  let node = rowLeaf(row, hash)
  for (const at of leftSiblings(position)) {
    const before = nodeAt(at)
    if (before === undefined) return false
    node = nodeHash(before, node, hash)
  }
  const stored = nodeAt(position)
  return stored !== undefined && equalBytes(node, stored)
}

/** The positions with the roots of the subtrees that end before a row and are merged with it, bottom up. */
const leftSiblings = (position: number): readonly number[] => {
  const found: number[] = []
  for (let rest = position, width = 1; rest % 2 === 1; rest = (rest - 1) / 2, width *= 2) found.push(position - width)
  return found
}

/**
 * Whether a row that an index found is the row of a log, as it was appended; a row without a text, as it was erased.
 *
 * Cost    one read, of two nodes on average
 */
export const isRecorded = (store: Store, id: string, row: StoredRow): Task<LogFault, boolean> =>
  storeTask(async () => {
    const { position, erased } = row
    const positions = [position, ...leftSiblings(position)]
    const found =
      erased === undefined
        ? await store.nodes(id, positions)()
        : await store.read(id, { from: position, to: position + 1 })() // compares it with the ledger
    if (isLeft(found)) return found.left._tag === 'DamagedLog' ? right(false) : found
    const nodes = found.right as readonly Uint8Array[]
    return right(erased !== undefined || isInTree(row, position, (at) => nodes[positions.indexOf(at)], store.hash))
  }, 'isRecorded')

const subtreeRoots = (store: Store, id: string, subtrees: readonly Subtree[]): Task<LogFault, readonly Uint8Array[]> =>
  storeTask(async () => {
    const pieces = subtrees.map(perfectPieces)
    const needed = pieces.flat().flatMap(partsOf)
    const leaves = needed.filter(({ leaf }) => leaf).map(({ position }) => position)
    const ends = needed.filter(({ leaf }) => !leaf).map(({ position }) => position)
    const nodes = await store.nodes(id, ends)()
    if (isLeft(nodes)) return nodes
    const known = new Map(ends.map((end, index) => [`node ${end}`, nodes.right[index] as Uint8Array]))
    for (const position of leaves) {
      const read = await store.read(id, { from: position, to: position + 1 })()
      if (isLeft(read)) return read
      const [found] = read.right
      if (found === undefined) return left({ _tag: 'DamagedLog', id, position, reason: 'the row is missing' })
      known.set(`leaf ${position}`, rowLeaf(found, store.hash))
    }
    const rootOfPiece = (piece: Subtree): Uint8Array => {
      const hashes = partsOf(piece).map(
        ({ position, leaf }) => known.get(`${leaf ? 'leaf' : 'node'} ${position}`) as Uint8Array,
      )
      return hashes.reduceRight((root, left) => nodeHash(left, root, store.hash))
    }
    return right(
      subtrees.map(({ start, end }, index) =>
        rootOf({ size: end - start, peaks: (pieces[index] as readonly Subtree[]).map(rootOfPiece) }, store.hash),
      ),
    )
  }, 'consistencyPath')

/** The perfect subtrees of a subtree, from left to right. */
const perfectPieces = ({ start, end }: Subtree): readonly Subtree[] => {
  let from = start
  return peakEnds(end - start).map((width) => {
    const piece = { start: from, end: start + width }
    from = piece.end
    return piece
  })
}

interface KnownHash {
  /** True for a leaf, which is hashed from its row; false for a node, which is stored beside its last row. */
  readonly leaf: boolean
  readonly position: number
}

/**
 * The known hashes from which a perfect subtree's root is computed. A left child's root is stored
 * beside the child's last row. A right child is split into its own children, down to a leaf.
 */
const partsOf = ({ start, end }: Subtree): readonly KnownHash[] => {
  const width = end - start
  if ((start / width) % 2 === 0) return [{ leaf: false, position: end - 1 }]
  if (width === 1) return [{ leaf: true, position: start }]
  const middle = start + width / 2
  return [{ leaf: false, position: middle - 1 }, ...partsOf({ start: middle, end })]
}
