/**
 * Check sums of the columns that no digest covers: names, metadata, the place of rows. They find what a disk or a bug has
 * changed; somebody who can write to the file can write them too.
 */
import { crc32 } from 'node:zlib'

/** The CRC-32 of some columns, in order. Any change of one bit, or of up to 32 side by side, gives another sum. */
export const sumOf = (...columns: readonly (number | bigint | string | Uint8Array | null)[]): number => {
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
