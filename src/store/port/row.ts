/** Rows of a log, and the log's head. */
import type { BlockId } from '../../proof/internal.ts'

/** The kind of a row: an entry of the record (a message), or a note about it. Both are leaves of one tree. */
export type RowKind = 'entry' | 'note'

/** A row to append. */
export interface Row {
  /** Whether it is an entry or a note. */
  readonly kind: RowKind
  /** The text: any well-formed string, even empty or with NUL. Its UTF-8 is hashed, and it is returned unchanged. */
  readonly body: string
  /** The blocks that the text references. They are kept at least as long as the row. Default: none. */
  readonly blocks?: readonly BlockId[] | undefined
  /** The time by the writer's clock, in whole milliseconds since 1970. Part of the leaf. Default: the store's time. */
  readonly at?: number
  /**
   * 32 lowercase hexadecimal digits: 16 random bytes, hashed before the text, so that an erased
   * text can't be found by hashing guesses. Part of the leaf.
   */
  readonly salt?: string | undefined
  /**
   * The leaf of an erased row, as 64 lowercase hexadecimal digits; the body is then the stub. Accepted only if
   * the scope's ledger records the erasure. An erased row has no salt and no blocks. Default: not erased.
   */
  readonly erased?: string | undefined
}

/** A row with its time. */
export type TimedRow = Row & Required<Pick<Row, 'at'>>

/** A row as a store returns it. */
export interface StoredRow {
  /** The position among all rows of the log, from 0. */
  readonly position: number
  /** Whether it is an entry or a note. */
  readonly kind: RowKind
  /** The index among the rows of its kind, from 0. */
  readonly index: number
  /** Its text, unchanged. */
  readonly body: string
  /** The time by the writer's clock, in milliseconds since 1970. */
  readonly at: number
  /** The salt, if the row was appended with one. */
  readonly salt?: string | undefined
  /** The leaf of an erased row. Its body is then a stub, and the scope's ledger has the reason. */
  readonly erased?: string | undefined
  /** The text as stored and hashed, if the row was decrypted. */
  readonly stored?: string | undefined
}

/** The length of a log and the Merkle root of its rows. Two logs with equal heads are equal. */
export interface Head {
  /** The number of rows. */
  readonly size: number
  /** The root of the Merkle tree over its rows: 64 hexadecimal digits. */
  readonly root: string
}
