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
  let length = 0
  let text = ''
  const flush = (more: number): void => {
    const most = length + text.length * 3 + more // a unit of a text has at most three bytes
    if (most > buffer.length) buffer = Buffer.concat([buffer.subarray(0, length)], most * 2)
    length += buffer.write(text, length)
    text = ''
  }
  for (const column of columns) {
    if (column instanceof Uint8Array) {
      text += `${column.length} `
      flush(column.length)
      buffer.set(column, length)
      length += column.length
    } else text += typeof column === 'string' ? `${column.length}:${column} ` : `${column} `
  }
  flush(0)
  return crc32(buffer.subarray(0, length))
}

/** One call of CRC-32 on bytes side by side takes less than one for each column. */
let buffer = Buffer.alloc(1024)
