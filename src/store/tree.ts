/** The tree of a log: rows as leaves, heads, and the range that a log is continued from. */
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import { appendLeaf, leafMark, peakEnds, rootOf, type Hash, type CompactRange } from '../proof/index.ts'
import { Damaged } from './damaged.ts'
import type { Head, StoredRow } from './row.ts'

/** What a leaf stands for: a row without the list of its blocks, which its body names. */
export type RowContent = Pick<StoredRow, 'kind' | 'body' | 'at' | 'salt' | 'erased' | 'stored'>

/**
 * The leaf of a row: the SHA-256 of
 *
 *     00                the mark of a leaf (RFC 6962)
 *     1 byte            2, and 1 more for a note, and 4 more if the row has `salt`
 *     8 bytes           `at` in milliseconds since 1970, signed, big-endian
 *     16 bytes          `salt`; only if the row has it
 *     the rest          the body in UTF-8, as it is stored: of a row that was decrypted, `stored`
 *
 * The second byte gives the length of each part before the body, so no two different rows have the same content. A row
 * that was erased keeps the leaf that it had.
 *
 * @param row the row
 * @param hash the hash function: SHA-256
 * @returns the leaf: 32 bytes
 */
export const rowLeaf = ({ kind, body: text, at, salt, erased, stored }: RowContent, hash: Hash): Uint8Array => {
  const body = stored ?? text
  if (erased !== undefined) return hexToBytes(erased)
  const start = 10 + (salt === undefined ? 0 : 16)
  const bytes = roomFor(start + body.length * 3) // a character of a string is at most three bytes of UTF-8
  bytes[0] = leafMark
  bytes[1] = 2 + (kind === 'note' ? 1 : 0) + (salt === undefined ? 0 : 4)
  const high = Math.floor(at / 2 ** 32)
  putWord(bytes, 2, high)
  putWord(bytes, 6, at - high * 2 ** 32)
  let next = 10
  if (salt !== undefined)
    for (let index = 0; index < 32; index += 2) bytes[next++] = Number.parseInt(salt.slice(index, index + 2), 16)
  encoder ??= new TextEncoder()
  const { written } = encoder.encodeInto(body, bytes.subarray(next))
  return hash(bytes.subarray(0, next + written))
}

declare class TextEncoder {
  encodeInto(source: string, destination: Uint8Array): { readonly written: number }
}
/** Made when it is first needed: some sandboxes that load this have none. */
let encoder: TextEncoder | undefined

const putWord = (bytes: Uint8Array, start: number, word: number): void => {
  bytes[start] = word >>> 24
  bytes[start + 1] = word >>> 16
  bytes[start + 2] = word >>> 8
  bytes[start + 3] = word
}

/** Used for one leaf after the other: most rows are short. */
const shared = new Uint8Array(1 << 16)

const roomFor = (length: number): Uint8Array => (length <= shared.length ? shared : new Uint8Array(length))

/**
 * The head of the log that a range describes. Cost: as many hashes as the size has 1 bits.
 *
 * @param range the tree
 * @param hash the hash function: SHA-256
 * @returns the head
 */
export const headOf = (range: CompactRange, hash: Hash): Head =>
  Object.freeze({ size: range.size, root: bytesToHex(rootOf(range, hash)) })

/**
 * The range that is kept beside a head, which logs are grown from. One that is not of that head would make an acknowledged
 * append the end of the log.
 *
 * Throws  Damaged
 */
export const rangeOf = ({ size, root }: Head, peaks: readonly Uint8Array[], hash: Hash): CompactRange => {
  const range = { size, peaks }
  if (peaks.length !== peakEnds(size).length || headOf(range, hash).root !== root)
    throw new Damaged(size, 'the peaks that are kept beside its head are not of that head')
  return range
}

/** A tree after more leaves. */
export interface Grown {
  /** The tree with the new leaves. */
  readonly range: CompactRange
  /**
   * For each new leaf, the root of the largest perfect subtree that ends with it. An adapter stores it beside the row.
   */
  readonly nodes: readonly Uint8Array[]
}

/**
 * Append leaves to a tree. Cost: an amortised hash a leaf.
 *
 * @param range the tree
 * @param leaves the new leaves
 * @param hash the hash function: SHA-256
 * @returns the tree after them, and a node for each
 */
export const grow = (range: CompactRange, leaves: readonly Uint8Array[], hash: Hash): Grown => {
  const nodes: Uint8Array[] = []
  let grown = range
  for (const leaf of leaves) {
    grown = appendLeaf(grown, leaf, hash)
    nodes.push(grown.peaks.at(-1) as Uint8Array) // there is one: a leaf was just appended
  }
  return { range: grown, nodes }
}
