/** The rows of a log as leaves of its tree. */
import { ownField } from '../json/index.ts'
import { addLeaf, type CompactRange } from './compact-range.ts'
import { bytesOfHex, leafMark, type Hash } from './hashes.ts'

/** The content of a leaf: a row without its list of blocks, because the body names them. */
export interface RowContent {
  readonly kind: 'entry' | 'note'
  readonly body: string
  /** Milliseconds since 1970. */
  readonly at: number
  /** 32 lowercase hexadecimal digits. */
  readonly salt?: string | undefined
  /** The leaf of an erased row: 64 lowercase hexadecimal digits. */
  readonly erased?: string | undefined
  /** The stored body, if the row was decrypted. */
  readonly stored?: string | undefined
}

/**
 * The leaf of a row: the SHA-256 of
 *
 *     00                the mark of a leaf (RFC 6962)
 *     1 byte            2, and 1 more for a note, and 4 more if the row has `salt`
 *     8 bytes           `at` in milliseconds since 1970, signed, big-endian
 *     16 bytes          `salt`; only if the row has it
 *     the rest          the body in UTF-8, as it is stored: of a row that was decrypted, `stored`
 *
 * The second byte determines the length of each part before the body, so two different rows never
 * have the same content. An erased row keeps its leaf.
 *
 * @param row the row
 * @param hash the hash function: SHA-256
 * @returns the leaf: 32 bytes
 */
export const rowLeaf = (row: RowContent, hash: Hash): Uint8Array => {
  const { kind, at } = row
  const salt = ownField(row, 'salt')
  const erased = ownField(row, 'erased')
  const body = ownField(row, 'stored') ?? row.body
  if (erased !== undefined) return bytesOfHex(erased)
  const start = salt === undefined ? 10 : 26
  const length = start + body.length * 3 // a UTF-16 unit takes at most three bytes of UTF-8
  const buffer = length <= roomLength ? shared : roomOf(length)
  const { bytes } = buffer
  bytes[0] = leafMark
  bytes[1] = 2 + (kind === 'note' ? 1 : 0) + (salt === undefined ? 0 : 4)
  const high = Math.floor(at / 2 ** 32)
  putWord(bytes, 2, high)
  putWord(bytes, 6, at - high * 2 ** 32)
  if (salt !== undefined) bytes.set(bytesOfHex(salt), 10)
  encoder ??= new TextEncoder()
  const { written } = encoder.encodeInto(body, salt === undefined ? buffer.plain : buffer.salted)
  return hash(new Uint8Array(buffer.buffer, 0, start + written))
}

/** A row with its leaf, frozen. All fields are set, so that none is read from a prototype. */
export interface HashedRow<Id extends string = string> {
  /** Whether it is an entry or a note. */
  readonly kind: 'entry' | 'note'
  /** The text. */
  readonly body: string
  /** Milliseconds since 1970. */
  readonly at: number
  /** 32 lowercase hexadecimal digits; undefined without salt. */
  readonly salt: string | undefined
  /** The leaf of an erased row; undefined if it was not erased. */
  readonly erased: string | undefined
  /** The blocks that the body references. */
  readonly blocks: readonly Id[]
  /** The hash of the row as a leaf of the tree. */
  readonly leaf: Uint8Array
}

/**
 * Hash a row.
 *
 * @param row the row, with checked content
 * @param blocks the blocks that its body references, frozen
 * @param hash the hash function: SHA-256
 * @returns a new row with the leaf
 */
export const hashRow = <Id extends string>(
  { kind, body, at, salt, erased }: Omit<HashedRow, 'blocks' | 'leaf'>,
  blocks: readonly Id[],
  hash: Hash,
): HashedRow<Id> => {
  const leaf = rowLeaf({ kind, body, at, salt, erased, stored: undefined }, hash)
  return Object.freeze({ kind, body, at, salt, erased, blocks, leaf })
}

/** A tree after more leaves. */
export interface GrownTree {
  /** The tree with the new leaves. */
  readonly range: CompactRange
  /**
   * For each new leaf, the root of the largest perfect subtree that ends with it. An adapter stores it beside the row.
   */
  readonly nodes: readonly Uint8Array[]
}

/**
 * Append leaves to a tree. Cost: amortized one hash for each leaf.
 *
 * @param range the tree
 * @param leaves the new leaves
 * @param hash the hash function: SHA-256
 * @returns the tree after them, and a node for each leaf
 */
export const grow = (range: CompactRange, leaves: readonly Uint8Array[], hash: Hash): GrownTree => {
  const nodes: Uint8Array[] = []
  const peaks = [...range.peaks]
  let { size } = range
  for (const leaf of leaves) {
    addLeaf(peaks, size, leaf, hash)
    size += 1
    nodes.push(peaks.at(-1) as Uint8Array) // exists, because a leaf was just appended
  }
  const kept = Object.freeze([...peaks]) // without room for more: each open session keeps one
  return Object.freeze({ range: Object.freeze({ size, peaks: kept }), nodes: Object.freeze(nodes) })
}

interface Encoder {
  encodeInto(source: string, destination: Uint8Array): { readonly written: number }
}
declare const TextEncoder: new () => Encoder
let encoder: Encoder | undefined // some sandboxes lack it, so it is created on first use

const putWord = (bytes: Uint8Array, start: number, word: number): void => {
  bytes[start] = word >>> 24
  bytes[start + 1] = word >>> 16
  bytes[start + 2] = word >>> 8
  bytes[start + 3] = word
}

/** A buffer for a row, with views of the part for its text. */
interface Room {
  readonly buffer: ArrayBuffer
  readonly bytes: Uint8Array
  readonly plain: Uint8Array
  readonly salted: Uint8Array
}

const roomOf = (length: number): Room => {
  const buffer = new ArrayBuffer(length)
  return {
    buffer,
    bytes: new Uint8Array(buffer),
    plain: new Uint8Array(buffer, 10),
    salted: new Uint8Array(buffer, 26),
  }
}

/** The shared buffer, reused for each leaf, because most rows are short. */
const roomLength = 1 << 16
const shared = roomOf(roomLength)
