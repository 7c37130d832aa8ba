/** The tree of a log: rows as leaves, heads, and the range that a log is continued from. */
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import type { Hash } from '../digest/index.ts'
import { appendLeaf, leafHash, rootOf, type CompactRange } from '../proof/index.ts'
import type { Head, Row, RowKind } from './store.ts'

/** How a kind starts the leaf of its row, so that a note can't pass for an entry. */
const marks: Readonly<Record<RowKind, string>> = { entry: '\u0000', note: '\u0001' }

/** The leaf of a row: the hash of a byte for its kind (entry 0, note 1) and of the UTF-8 of its body. */
export const rowLeaf = ({ kind, body }: Pick<Row, 'kind' | 'body'>, hash: Hash): Uint8Array => leafHash(utf8ToBytes(marks[kind] + body), hash)

/** The head of the log that a range stands for. Cost: as many hashes as the size has 1 bits. */
export const headOf = (range: CompactRange, hash: Hash): Head => Object.freeze({ size: range.size, root: bytesToHex(rootOf(range, hash)) })

/** A range after more leaves, and for each of them the node that is kept beside its row: the last peak. */
export interface Grown {
  readonly range: CompactRange
  readonly nodes: readonly Uint8Array[]
}

export const grow = (range: CompactRange, leaves: readonly Uint8Array[], hash: Hash): Grown => {
  const nodes: Uint8Array[] = []
  let grown = range
  for (const leaf of leaves) {
    grown = appendLeaf(grown, leaf, hash)
    nodes.push(grown.peaks.at(-1) as Uint8Array) // there is one: a leaf was just appended
  }
  return { range: grown, nodes }
}
