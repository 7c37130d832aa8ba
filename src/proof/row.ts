/**
 * The rows of a log as leaves of its tree. The leaf of a message is computed here before ordinary code has the row, and
 * again when the row is read, so nothing in between can change the message without a trace.
 */
import { arrayOf, emptyList, freeze, ReturnsArgument, ownField, bindMethod } from '../json/index.ts'
import { addLeaf, rootOf, type CompactRange } from './compact-range.ts'
import { leafMark } from './hashes.ts'
import { bytesOfHex, hexOf } from './hex.ts'
import type { Hash } from './sha256.ts'

/** The content of a leaf: a row without the list of its blocks, which its body names. */
export interface RowContent {
  /** Whether it is an entry or a note. */
  readonly kind: 'entry' | 'note'
  /** The text. */
  readonly body: string
  /** Milliseconds since 1970. */
  readonly at: number
  /** 32 lowercase hexadecimal digits. */
  readonly salt?: string | undefined
  /** The leaf of a row that was erased: 64 lowercase hexadecimal digits. */
  readonly erased?: string | undefined
  /** The body as it is stored, of a row that was decrypted. */
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
 * The second byte gives the length of each part before the body, so no two different rows have the same content. A row
 * that was erased keeps the leaf that it had.
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
  const length = start + body.length * 3 // a character of a string is at most three bytes of UTF-8
  const room = length <= roomLength ? shared : roomOf(length)
  const { bytes } = room
  bytes[0] = leafMark
  bytes[1] = 2 + (kind === 'note' ? 1 : 0) + (salt === undefined ? 0 : 4)
  const high = floor(at / 2 ** 32)
  putWord(bytes, 2, high)
  putWord(bytes, 6, at - high * 2 ** 32)
  if (salt !== undefined) put(bytes, bytesOfHex(salt), 10)
  encoder ??= new Encoder()
  const { written } = encodeInto(encoder, body, salt === undefined ? room.plain : room.salted)
  return hash(new Bytes(room.buffer, 0, start + written))
}

/** A row with its leaf, frozen. It has all its fields: none is read from a prototype. */
export interface HashedRow<Id extends string = string> {
  /** Whether it is an entry or a note. */
  readonly kind: 'entry' | 'note'
  /** The text. */
  readonly body: string
  /** Milliseconds since 1970. */
  readonly at: number
  /** 32 lowercase hexadecimal digits; undefined if it has none. */
  readonly salt: string | undefined
  /** The leaf of a row that was erased; undefined if it was not. */
  readonly erased: string | undefined
  /** The blocks that the body references. */
  readonly blocks: readonly Id[]
  /** The hash of the row as a leaf of the tree. */
  readonly leaf: Uint8Array
}

/** The private name of what `hashRow` gives: nobody else can give it, so the leaf is that of the body. */
class HashMark extends ReturnsArgument {
  readonly #own = true

  static mark<T extends object>(row: T): Readonly<T> {
    return freeze(new HashMark(row) as unknown as T)
  }

  static is(row: unknown): boolean {
    return typeof row === 'object' && row !== null && #own in row
  }
}

/**
 * Hash a row.
 *
 * @param row the row; its content was checked
 * @param blocks the blocks that its body references, frozen
 * @param hash the hash function: SHA-256
 * @returns a row of its own, with the leaf
 */
export const hashRow = <Id extends string>(
  { kind, body, at, salt, erased }: Omit<HashedRow, 'blocks' | 'leaf'>,
  blocks: readonly Id[],
  hash: Hash,
): HashedRow<Id> => {
  const leaf = rowLeaf({ kind, body, at, salt, erased, stored: undefined }, hash)
  return HashMark.mark({ kind, body, at, salt, erased, blocks, leaf })
}

/** A log after rows that `hashRow` gave. */
export class GrownRows {
  /** The tree with the rows. */
  readonly range: CompactRange
  /** The node that is stored beside each row. */
  readonly nodes: readonly Uint8Array[]
  /** The root of the tree, as 64 lowercase hexadecimal digits. */
  readonly root: string
  readonly #before: CompactRange
  readonly #rows: readonly HashedRow[]

  constructor(before: CompactRange, rows: readonly HashedRow[], hash: Hash) {
    const own = emptyList<HashedRow>()
    const leaves = emptyList<Uint8Array>()
    for (let index = 0; index < rows.length; index++) {
      const row = rows[index] as HashedRow
      if (!HashMark.is(row)) throw new TypeError('a row was changed after it was checked')
      own[index] = row
      leaves[index] = row.leaf
    }
    const { range, nodes } = grow(before, leaves, hash)
    this.#before = before
    this.#rows = freeze(own)
    this.range = range
    this.nodes = nodes
    this.root = hexOf(rootOf(range, hash))
    freeze(this)
  }

  /** The rows, if they were appended to that tree. Undefined: it is not what the constructor made for it. */
  static rowsIn(grown: unknown, before: CompactRange): readonly HashedRow[] | undefined {
    return typeof grown === 'object' && grown !== null && #rows in grown && grown.#before === before
      ? grown.#rows
      : undefined
  }
}
freeze(GrownRows)

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
 * Append leaves to a tree. Cost: an amortised hash a leaf.
 *
 * @param range the tree
 * @param leaves the new leaves
 * @param hash the hash function: SHA-256
 * @returns the tree after them, and a node for each
 */
export const grow = (range: CompactRange, leaves: readonly Uint8Array[], hash: Hash): GrownTree => {
  const nodes = emptyList<Uint8Array>()
  const peaks = emptyList<Uint8Array>()
  for (let index = 0; index < range.peaks.length; index++) peaks[index] = range.peaks[index] as Uint8Array
  let { size } = range
  for (let index = 0; index < leaves.length; index++) {
    addLeaf(peaks, size, leaves[index] as Uint8Array, hash)
    size += 1
    nodes[index] = peaks[peaks.length - 1] as Uint8Array // there is one: a leaf was just appended
  }
  return freeze({ range: freeze({ size, peaks: arrayOf(peaks) }), nodes: arrayOf(nodes) })
}

type Encoding = object
declare const TextEncoder: {
  new (): Encoding
  readonly prototype: { encodeInto(source: string, destination: Uint8Array): { readonly written: number } }
}
// Taken when this module loads. Some sandboxes have none; the encoder is made when it is first needed.
const Encoder = typeof TextEncoder === 'undefined' ? (undefined as never) : TextEncoder
let encoder: Encoding | undefined
const encodeInto: (encoder: Encoding, text: string, into: Uint8Array) => { readonly written: number } =
  typeof TextEncoder === 'undefined' ? (undefined as never) : bindMethod(TextEncoder.prototype.encodeInto)

const { floor } = Math
const Bytes = Uint8Array
const Buffer = ArrayBuffer
const put: (bytes: Uint8Array, part: Uint8Array, at: number) => void = bindMethod(Uint8Array.prototype.set)
const putWord = (bytes: Uint8Array, start: number, word: number): void => {
  bytes[start] = word >>> 24
  bytes[start + 1] = word >>> 16
  bytes[start + 2] = word >>> 8
  bytes[start + 3] = word
}

/** Bytes to write a row into, and the parts of them that its text goes to. */
interface Room {
  readonly buffer: ArrayBuffer
  readonly bytes: Uint8Array
  readonly plain: Uint8Array
  readonly salted: Uint8Array
}

const roomOf = (length: number): Room => {
  const buffer = new Buffer(length)
  return { buffer, bytes: new Bytes(buffer), plain: new Bytes(buffer, 10), salted: new Bytes(buffer, 26) }
}

/** Used for one leaf after the other: most rows are short. */
const roomLength = 1 << 16
const shared = roomOf(roomLength)
