/**
 * Check sums of the columns that no digest covers: names, metadata, the place of rows. They find what a disk or a bug has
 * changed; somebody who can write to the file can write them too.
 */
import type { DatabaseSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'

/** What SQLite keeps in a column. */
type Column = number | bigint | string | Uint8Array | null

/** The sum of rows that a version without sums wrote: opening a file rewrites no row. */
export const noSum = -1

/** Whether a stored sum is that of the columns, or there is none. */
export const fits = (stored: unknown, ...columns: readonly Column[]): boolean =>
  (typeof stored === 'number' || typeof stored === 'bigint') &&
  (Number(stored) === noSum || Number(stored) === sumOf(...columns))

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

/** Give sums to what a version without them wrote. */
export const addSums = (db: DatabaseSync): void => {
  // Integers as bigints: they may be too large for a number.
  db.function('sum_of', { varargs: true, useBigIntArguments: true }, (...columns) => sumOf(...columns))
  db.exec(`
    update scope set sum = sum_of(name) where sum = ${noSum};
    update segment set sum = sum_of(scope, parent, base) where sum = ${noSum};
    update log set sum = sum_of(scope, id, segment, size, entries, peaks, root) where sum = ${noSum};
    update log set meta_sum = sum_of(scope, id, created, meta, changes) where meta_sum = ${noSum};
    update operation set sum = sum_of(log, id, base, size, root) where sum = ${noSum};
    update block set sum = sum_of(scope, id, kept) where sum = ${noSum};
    update mention set sum = sum_of(row >> 32, row & 4294967295, block) where sum = ${noSum};
  `)
}
