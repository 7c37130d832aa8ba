/**
 * Checksums of columns that no digest covers: names, metadata, the positions of rows. They detect
 * changes by a disk or a bug, but not by someone who can write to the file and recompute them.
 */

/** A value of a SQLite column. */
type Column = number | bigint | string | Uint8Array | null

/** Whether a stored checksum matches the columns. */
export const fits = (stored: unknown, ...columns: readonly Column[]): boolean =>
  (typeof stored === 'number' || typeof stored === 'bigint') && Number(stored) === sumOf(...columns)

/** The CRC-32 of some columns, in order. It detects any change of one bit, or of a run of up to 32 bits. */
export const sumOf = (...columns: readonly Column[]): number => crcOf(Buffer.concat(columns.flatMap(partsOf)))

const partsOf = (column: Column): readonly Uint8Array[] => {
  if (column instanceof Uint8Array) return [Buffer.from(`${column.length} `), column]
  return [Buffer.from(typeof column === 'string' ? `${column.length}:${column} ` : `${column} `)]
}

/**
 * The first sums of a process are computed here: to load `node:zlib` takes longer than all of them, and many processes store one
 * message.
 */
const crcOf = (bytes: Uint8Array): number => {
  if (computed === mostComputed || bytes.length > longest) return process.getBuiltinModule('node:zlib').crc32(bytes)
  computed += 1
  return shortCrc(bytes)
}
const mostComputed = 32
const longest = 1024
let computed = 0

/** The CRC-32, bit by bit. */
export const shortCrc = (bytes: Uint8Array): number => {
  let crc = -1
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (0xedb88320 & -(crc & 1))
  }
  return ~crc >>> 0
}
