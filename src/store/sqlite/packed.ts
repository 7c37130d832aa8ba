/**
 * The bytes of blocks as the file has them. A compaction compresses with zstd where that saves a quarter or more; what is put
 * meanwhile is not compressed, so an append costs no more. Ids are of the bytes themselves, so what is not unpacked rightly is
 * a damaged block.
 */
import type { DatabaseSync } from 'node:sqlite'
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'

/** A content in its table: `size` is the number of bytes that were packed; null: they were not. */
export interface Packed {
  readonly bytes: Uint8Array
  readonly size: number | bigint | null
}

/** Smaller blocks are not compressed: they would save little. */
const least = 1024

/** How many blocks are compressed in one transaction: other writers get a turn. */
const piece = 100

const options = { params: { [constants.ZSTD_c_compressionLevel]: 9 } }

export const pack = (bytes: Uint8Array): Packed => {
  if (bytes.length < least) return { bytes, size: null }
  const packed = { bytes: new Uint8Array(zstdCompressSync(bytes, options)), size: bytes.length }
  const pays = packed.bytes.length <= bytes.length * 0.75 && Buffer.compare(unpack(packed), bytes) === 0
  return pays ? packed : { bytes, size: null }
}

/** Of damaged bytes, these themselves: their digest tells. */
export const unpack = ({ bytes, size }: Packed): Uint8Array => {
  if (size === null) return bytes
  try {
    const unpacked = zstdDecompressSync(bytes, { maxOutputLength: Math.max(1, Number(size)) })
    return unpacked.length === Number(size) ? new Uint8Array(unpacked) : bytes
  } catch {
    return bytes
  }
}

/**
 * Compress the blocks of a file, a piece in each transaction.
 *
 * @param atOnce runs a transaction
 */
export const packBlocks = async (db: DatabaseSync, atOnce: <T>(work: () => T) => Promise<T>): Promise<void> => {
  const next =
    db.prepare(`select block, bytes from content where block > ? and size is null and length(bytes) >= ${least}
    order by block limit ${piece}`)
  const put = db.prepare('update content set bytes = ?, size = ? where block = ?')
  const packAfter = (key: number): number | undefined => {
    const found = next.all(key) as unknown as readonly { readonly block: number; readonly bytes: Uint8Array }[]
    for (const { block, bytes } of found) {
      const packed = pack(bytes)
      if (packed.size !== null) put.run(packed.bytes, packed.size, block)
    }
    return found.at(-1)?.block
  }
  for (let last: number | undefined = 0; last !== undefined;) {
    const before: number = last
    last = await atOnce(() => packAfter(before))
  }
}
