/** Check sums of columns that no tree covers. They find what a disk or a bug changed; who can write tables can write them. */
import { portableSha256, type Hash } from 'indelible/proof/kit'

/** The SHA-256 of the store. */
export const hash: Hash = portableSha256

/** A part of the digest of some columns, in decimal digits: a `bigint` of the database. */
export const sumOf = (...columns: readonly unknown[]): string => {
  const bytes = hash(Buffer.from(JSON.stringify(columns)))
  return String(new DataView(bytes.buffer, bytes.byteOffset).getBigInt64(0))
}

/** Of what a log's metadata says, and how often it was changed. */
export const metaSum = (scope: string, id: string, meta: string, changes: number): string =>
  sumOf('meta', scope, id, meta, changes)

/** Of when a log was created. */
export const createdSum = (scope: string, id: string, created: number): string => sumOf('created', scope, id, created)
