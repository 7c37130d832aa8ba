/** The proof of what is shown: the Merkle root of the rows, computed here, beside the head that they came with. */
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import { appendLeaf, emptyRange, portableSha256, treeRoot, type CompactRange } from 'indelible/proof/kit'
import type { Head } from 'indelible/store'
import { headOf, rowLeaf } from 'indelible/store/kit'
import type { ViewedRow } from '../../src/view/protocol.ts'
import type { SessionRecord } from './record.ts'

/** What was compared, and what came of it. */
export interface Proof {
  /** The head that the store or the file states. */
  readonly stated: Head
  /** The head of the rows that are shown, computed in this browser. */
  readonly computed: Head
  /** The first row that is not what was appended. */
  readonly damaged?: { readonly row: number; readonly reason: string }
  /** Rows that stand in the tree by their leaf alone: their text is not here, or was redacted. */
  readonly byLeaf: number
  /** Rows that were hashed as they are stored, encrypted: their text is not here. */
  readonly encrypted: number
  /** Blocks whose bytes have the digest that a row names. */
  readonly blocks: number
  /** Its leaves: a longer record of the same session is continued from them. */
  readonly leaves: readonly Uint8Array[]
  readonly range: CompactRange
}

const pieceRows = 1000
const longestPiece = 12 // milliseconds, so that the page stays smooth

/** Compute the proof of the rows up to the stated head, which have all come. Cost: O(bytes of the rows behind `before`). */
export const proofOf = async (
  record: SessionRecord,
  before: Proof | undefined,
  progress: (rows: number) => void,
): Promise<Proof> => {
  const { head } = record.info.value
  const { rows } = record
  const known = before?.damaged === undefined && (before?.computed.size ?? 0) <= head.size ? before : undefined
  let range = known?.range ?? emptyRange
  let byLeaf = known?.byLeaf ?? 0
  let encrypted = known?.encrypted ?? 0
  let damaged: Proof['damaged']
  const leaves = [...(known?.leaves ?? [])]
  let since = performance.now()
  for (let from = range.size; from < head.size && damaged === undefined; from += pieceRows) {
    const to = Math.min(from + pieceRows, head.size)
    const nodes = await record.source.nodes(record.id, from, to)
    for (let position = from; position < to && damaged === undefined; position++) {
      if (performance.now() - since > longestPiece) {
        progress(position)
        await new Promise((resolve) => setTimeout(resolve))
        since = performance.now()
      }
      const row = rows[position]
      const leaf = row?.position === position ? leafOf(row) : undefined
      if (leaf === undefined) {
        damaged = { row: position, reason: 'the row could not be read' }
        break
      }
      if (row?.leaf !== undefined) byLeaf += 1
      else if (row?.state === 'encrypted') encrypted += 1
      leaves.push(leaf)
      range = appendLeaf(range, leaf, portableSha256)
      if (nodes[position - from] !== bytesToHex(range.peaks.at(-1) as Uint8Array))
        damaged = { row: position, reason: 'the row was altered after it was appended' }
    }
  }
  const computed = headOf(range, portableSha256)
  const [bad] = [...record.badBlocks].toSorted(([, a], [, b]) => a - b)
  if (bad !== undefined && (damaged === undefined || bad[1] < damaged.row))
    damaged = { row: bad[1], reason: `block ${bad[0].slice(0, 12)}… is missing or is not what was appended` }
  if (damaged === undefined && computed.root !== head.root)
    damaged = { row: computed.size, reason: 'the head does not match the rows' }
  return {
    stated: head,
    computed,
    ...(damaged && { damaged }),
    byLeaf,
    encrypted,
    blocks: record.goodBlocks.size,
    leaves,
    range,
  }
}

/** The root of the first rows: what a head that was kept elsewhere is compared with. Undefined beyond the end. */
export const rootAt = ({ leaves }: Proof, size: number): string | undefined =>
  size <= leaves.length ? bytesToHex(treeRoot(leaves.slice(0, size))) : undefined

const leafOf = (row: ViewedRow): Uint8Array | undefined => {
  if (row.leaf !== undefined) return hexToBytes(row.leaf)
  const { body = row.stored, at } = row
  return body === undefined || at === undefined ? undefined : rowLeaf({ ...row, body, at }, portableSha256)
}
