/** Checksums of columns that no tree covers. They detect changes by a disk or a bug, not by a writer of tables. */
import { portableSha256, type Hash } from 'indelible/internal/proof'

export const hash: Hash = portableSha256

/** A part of the digest of some columns, as decimal digits of a database `bigint`. */
export const sumOf = (...columns: readonly unknown[]): string => {
  const bytes = hash(Buffer.from(JSON.stringify(columns)))
  return String(new DataView(bytes.buffer, bytes.byteOffset).getBigInt64(0))
}

/** The checksum of a log's metadata and its version. */
export const metaSum = (scope: string, id: string, meta: string, changes: number): string =>
  sumOf('meta', scope, id, meta, changes)

/** The checksum of a log's creation time. */
export const createdSum = (scope: string, id: string, created: number): string => sumOf('created', scope, id, created)
