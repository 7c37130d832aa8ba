/**
 * The stored bytes of blocks. A compaction compresses a block with zstd if that saves at least a
 * quarter. An append stores blocks uncompressed, so it costs no more. Ids are digests of the
 * uncompressed bytes, so a block that does not unpack correctly counts as damaged.
 */
import type { DatabaseSync } from 'node:sqlite'
import type * as Zlib from 'node:zlib'
import { nextTurn, sliceBytes } from '../port/slices.ts'

/**
 * The content of a block in its table. `size` is the uncompressed number of bytes; null if no compaction has tried it, -1 if
 * compression would not pay.
 */
export interface Packed {
  readonly bytes: Uint8Array
  readonly size: number | bigint | null
}

/** The columns of a content. A damaged size may be too large for a JavaScript integer. */
export const packedColumns = 'content.bytes, cast(content.size as real) as size'

/** Smaller blocks are not compressed: they would save little. */
const least = 1024

const doesNotPay = -1

/**
 * The maximum number of blocks in one transaction, which has at most as many bytes as a slice, or one block. Other
 * writers then get a turn.
 */
const piece = 100

/** Loaded when it is first used: most processes compress nothing. Node 23.0 to 23.7 has no zstd. */
const zlib = (): Partial<typeof Zlib> & Pick<typeof Zlib, 'constants'> => process.getBuiltinModule('node:zlib')
const level = 9

const noZstd = (use: 'read' | 'write'): Error =>
  new Error(`Node ${process.version} can't ${use} compressed blocks: use 22.16 or later, but not 23`)

export const pack = (bytes: Uint8Array): Packed => {
  const { zstdCompressSync, constants } = zlib()
  if (zstdCompressSync === undefined || bytes.length < least) return { bytes, size: null }
  const options = { params: { [constants.ZSTD_c_compressionLevel]: level } }
  const packed = { bytes: new Uint8Array(zstdCompressSync(bytes, options)), size: bytes.length }
  const pays =
    packed.bytes.length <= bytes.length * 0.75 &&
    packed.size <= packed.bytes.length * usualRatio &&
    Buffer.compare(unpack(packed), bytes) === 0
  return pays ? packed : { bytes, size: null }
}

/**
 * A small file must not fill the memory: what is stored is at most this many times as long uncompressed. Bytes that
 * zstd makes shorter stay uncompressed.
 */
const mostRatio = 256
const isPlausible = ({ bytes, size }: Packed): boolean => Number(size) <= bytes.length * mostRatio

/** Compaction leaves bytes that would get shorter than this uncompressed. */
const usualRatio = 32
const mostPlainBytes = 256 << 20

/** Bounds the uncompressed bytes of one read: many blocks, each of them plausible, must not fill the memory either. */
export class ReadBound {
  #left = mostPlainBytes

  /** Count a block. Throws a RangeError before it is uncompressed. */
  take(packed: Packed): void {
    if (!isPacked(packed) || !isPlausible(packed)) return
    const { bytes, size } = packed
    this.#left += bytes.length * usualRatio - Number(size)
    if (this.#left < 0)
      throw new RangeError(
        `the blocks of one read are more than ${mostPlainBytes} bytes and ${usualRatio} times as long as they are stored: no compaction wrote them, and they are not read`,
      )
  }
}

export const isPacked = ({ size }: Pick<Packed, 'size'>): boolean => size !== null && size !== doesNotPay

/** Damaged bytes are returned unchanged, and their digest then differs. Throws if this Node has no zstd. */
export const unpack = (packed: Packed): Uint8Array => (isPlausible(packed) ? unpackAny(packed) : packed.bytes)

/** Like `unpack`, for bytes of format 1, which had no such bound. */
export const unpackAny = ({ bytes, size }: Packed): Uint8Array => {
  if (!isPacked({ size })) return bytes
  const { zstdDecompressSync } = zlib()
  if (zstdDecompressSync === undefined) throw noZstd('read')
  try {
    if (frameIn(bytes).end !== bytes.length) return bytes
    const unpacked = zstdDecompressSync(bytes, { maxOutputLength: Math.max(1, Number(size)) })
    return unpacked.length === Number(size) ? new Uint8Array(unpacked) : bytes
  } catch {
    return bytes
  }
}

/** The size with which the bytes are the block, if the stored size is damaged; undefined if there is none. */
export const sizeAgain = (bytes: Uint8Array, isBlock: (bytes: Uint8Array) => boolean): number | null | undefined => {
  if (isBlock(bytes)) return null
  try {
    const { size } = frameIn(bytes)
    return isBlock(unpack({ bytes, size })) ? size : undefined
  } catch {
    return undefined
  }
}

/**
 * The end of the first zstd frame, because zstd ignores all bytes after it; and the uncompressed size, if the frame states
 * it. Throws if the frame is truncated.
 *
 * Source  RFC 8878, 3.1.1
 */
const frameIn = (bytes: Uint8Array): { readonly end: number; readonly size: number } => {
  const frame = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  if (frame.readUInt32LE(0) !== 0xfd2fb528) throw new RangeError('not a zstd frame')
  const descriptor = frame.readUInt8(4)
  const isSingleSegment = (descriptor >> 5) & 1
  const sizeAt = 6 - isSingleSegment + ([0, 1, 2, 4][descriptor & 3] as number)
  const sizeBytes = [isSingleSegment, 2, 4, 8][descriptor >> 6] as number
  const size =
    sizeBytes === 0 || sizeBytes === 8 ? Number.NaN : frame.readUIntLE(sizeAt, sizeBytes) + (sizeBytes === 2 ? 256 : 0)
  let end = sizeAt + sizeBytes
  for (;;) {
    const header = frame.readUIntLE(end, 3)
    end += 3 + (((header >> 1) & 3) === 1 ? 1 : header >> 3) // a run is stored as one byte
    if ((header & 1) === 1) return { end: end + (descriptor & 4), size }
  }
}

/**
 * Compress the blocks of a file that no compaction has tried yet, in several transactions. Throws if this Node has no zstd.
 *
 * @param atOnce runs a transaction
 * @param isStopped whether to stop after a piece
 */
export const packBlocks = async (
  db: DatabaseSync,
  atOnce: (work: () => void) => Promise<void>,
  isStopped: () => boolean = () => false,
): Promise<void> => {
  if (zlib().zstdCompressSync === undefined) throw noZstd('write')
  const next =
    db.prepare(`select block, length(bytes) as length from content where block > ? and size is null and length(bytes) >= ${least}
    order by block limit ${piece}`)
  const get = db.prepare('select bytes from content where block = ?')
  const put = db.prepare('update content set bytes = ?, size = ? where block = ? and size is null and bytes = ?')
  const gone = { bytes: new Uint8Array() } // another process removed the block
  const packAfter = (
    key: number,
  ): readonly { readonly block: number; readonly bytes: Uint8Array; readonly packed: Packed }[] => {
    const some = []
    let read = 0
    for (const { block, length } of next.all(key) as unknown as readonly { block: number; length: number }[]) {
      if (read > 0 && read + length > sliceBytes) break
      read += length
      const { bytes } = (get.get(block) ?? gone) as { readonly bytes: Uint8Array }
      some.push({ block, bytes, packed: pack(bytes) })
    }
    return some
  }
  // Compressed before the transaction, so that other writers wait only for the write. A block changed meanwhile is left.
  for (let last = 0, some = packAfter(last); some.length > 0; some = packAfter(last)) {
    await atOnce(() => {
      for (const { block, bytes, packed } of some) put.run(packed.bytes, packed.size ?? doesNotPay, block, bytes)
    })
    last = some.at(-1)?.block ?? last
    await nextTurn()
    if (isStopped()) return
  }
}
