/**
 * Check sums of the columns that no digest covers: names, metadata, the place of rows. They find what a disk or a bug has
 * changed; somebody who can write to the file can write them too.
 */
import { crc32 } from 'node:zlib'

/** A value in a column of SQLite. */
type Column = number | bigint | string | Uint8Array | null

/** Whether a stored sum is that of the columns. */
export const fits = (stored: unknown, ...columns: readonly Column[]): boolean =>
  (typeof stored === 'number' || typeof stored === 'bigint') && Number(stored) === sumOf(...columns)

/** The CRC-32 of some columns, in order. Any change of one bit, or of up to 32 side by side, gives another sum. */
export const sumOf = (...columns: readonly Column[]): number => {
  let sum = 0
  let text = ''
  for (const column of columns) {
    if (column instanceof Uint8Array) {
      sum = crc32(`${text}${column.length} `, sum)
      if (column.length > 0) sum = crc32(column, sum) // of no bytes at no address, Node 22 begins anew
      text = ''
    } else text += typeof column === 'string' ? `${column.length}:${column} ` : `${column} `
  }
  return crc32(text, sum)
}
