/** The proof of what is shown: the Merkle root of the rows, computed here, beside the head that they came with. */
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import {
  appendLeaf,
  emptyRange,
  portableSha256,
  treeRoot,
  type BlockId,
  type CompactRange,
} from 'indelible/internal/proof'
import { recordedBlocks } from 'indelible/internal/session'
import type { Head } from 'indelible/store'
import { headOf, rowLeaf } from 'indelible/internal/store'
import type { ViewedRow } from '../../../src/protocol.ts'
import { blockDamage, type DamagedRow, type SessionRecord } from '../data/record.ts'

/** What was compared, and what came of it. */
export interface Proof {
  /** The head that the store or the file states. */
  readonly stated: Head
  /** The head of the rows that are shown, computed in this browser: of those before the first that could not be read. */
  readonly computed: Head
  /** The rows that are not what was appended, in order. */
  readonly damaged: ReadonlyMap<number, DamagedRow>
  /** Rows that were hashed. */
  readonly hashed: number
  /** Rows that were hashed as they are stored, encrypted: their text is not here. */
  readonly encrypted: number
  /** Its leaves, in so far as `computed` has them: a longer record of the same session is continued from them. */
  readonly leaves: readonly Uint8Array[]
  readonly range: CompactRange
  /** The tree of the nodes that are stored. It is `range` while no row differs from them. */
  readonly storedRange: CompactRange
  /** The rows that differ from the tree. */
  readonly altered: ReadonlyMap<number, DamagedRow>
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
  const known = (before?.storedRange.size ?? 0) <= head.size ? before : undefined
  let { range = emptyRange, storedRange = emptyRange, hashed = 0, encrypted = 0 } = known ?? {}
  const altered = new Map(known?.altered)
  const leaves = [...(known?.leaves ?? [])]
  let since = performance.now()
  for (let from = storedRange.size; from < head.size; from += pieceRows) {
    const to = Math.min(from + pieceRows, head.size)
    const nodes = await record.source.nodes(record.id, from, to)
    for (let position = from; position < to; position++) {
      if (performance.now() - since > longestPiece) {
        progress(position)
        await new Promise((resolve) => setTimeout(resolve))
        since = performance.now()
      }
      const row = rows[position]
      const leaf = row?.position === position ? leafOf(row) : undefined
      const node = nodes[position - from] ?? ''
      const isContinued = leaf !== undefined && range.size === position
      const isSame = isContinued && range === storedRange
      if (isContinued) {
        leaves.push(leaf)
        range = appendLeaf(range, leaf, portableSha256)
      }
      storedRange = isSame ? range : appendLeaf(storedRange, leaf ?? unreadLeaf, portableSha256)
      if (leaf !== undefined) hashed += 1
      if (row?.state === 'encrypted') encrypted += 1
      if (leaf !== undefined && bytesToHex(storedRange.peaks.at(-1) as Uint8Array) === node) continue
      altered.set(position, { reason: leaf === undefined ? unreadRow : alteredRow, altered: true })
      // The rows behind it are compared with the tree that was stored.
      const peaks = [...storedRange.peaks.slice(0, -1), /^[\da-f]{64}$/.test(node) ? hexToBytes(node) : unreadLeaf]
      storedRange = { size: storedRange.size, peaks }
    }
  }
  const computed = headOf(range, portableSha256)
  const damaged = new Map([...(await damagedBlocks(record)), ...altered])
  for (const { row, damage, state } of record.entries)
    if (damage !== undefined && row < head.size && (!altered.has(row) || altered.get(row)?.reason === unreadRow))
      damaged.set(row, { reason: damage, altered: state === 'damaged' })
  if (damaged.size === 0 && computed.root !== head.root)
    damaged.set(computed.size, { reason: 'the head does not match the rows', altered: false })
  return {
    stated: head,
    computed,
    damaged: new Map([...damaged].toSorted(([a], [b]) => a - b)),
    hashed,
    encrypted,
    leaves,
    range,
    storedRange,
    altered,
  }
}

const alteredRow = 'the row was altered after it was appended'
const unreadRow = 'the row could not be read'
const unreadLeaf = new Uint8Array(32)

/** The rows of receipts that name a block that was altered. A block that is not there is no damage of the record. */
const damagedBlocks = async (record: SessionRecord): Promise<ReadonlyMap<number, DamagedRow>> => {
  const named = new Map<BlockId, number>()
  for (const { note, row } of record.notes)
    for (const id of recordedBlocks(note)) if (!named.has(id)) named.set(id, row)
  const unknown = [...named].filter(([id]) => !record.blocks.has(id))
  for (let from = 0; from < unknown.length; from += pieceBlocks)
    await record.readBlocks(new Map(unknown.slice(from, from + pieceBlocks)))
  const damaged = new Map<number, DamagedRow>()
  for (const [id, row] of named)
    if (record.blocks.get(id)?.state === 'altered' && !damaged.has(row))
      damaged.set(row, { reason: blockDamage(id, 'altered'), altered: false })
  return damaged
}

const pieceBlocks = 100

/** The root of the first rows: what a head that was kept elsewhere is compared with. Undefined beyond the end. */
export const rootAt = ({ leaves }: Proof, size: number): string | undefined =>
  size <= leaves.length ? bytesToHex(treeRoot(leaves.slice(0, size))) : undefined

const leafOf = (row: ViewedRow): Uint8Array | undefined => {
  if (row.leaf !== undefined) return hexToBytes(row.leaf)
  const { body = row.stored, at } = row
  return body === undefined || at === undefined ? undefined : rowLeaf({ ...row, body, at }, portableSha256)
}
