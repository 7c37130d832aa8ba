/** Rows, and the head of a log of them. */
import type { BlockId } from '../proof/index.ts'

/** What a row is: an entry of the record (a message), or a note about it. Both are leaves of one tree. */
export type RowKind = 'entry' | 'note'

/** What is appended. */
export interface Row {
  /** Whether it is an entry or a note. */
  readonly kind: RowKind
  /** Any well-formed text, empty and NUL included. It is hashed as its UTF-8 and comes back unchanged. */
  readonly body: string
  /** The blocks that the text speaks of. They live at least as long as the row. */
  readonly blocks?: readonly BlockId[]
  /** When it was written, by the writer's clock: whole milliseconds since 1970. Part of the leaf. */
  readonly at?: number
  /**
   * 32 lowercase hexadecimal digits: 16 random bytes that are hashed before the text, so that nobody can find an erased text
   * by hashing guesses. Part of the leaf.
   */
  readonly salt?: string
}

/** A row as a store gives it back. */
export interface StoredRow {
  /** Counted from 0 over all rows of the log. */
  readonly position: number
  /** Whether it is an entry or a note. */
  readonly kind: RowKind
  /** Counted from 0 over the rows of its kind. */
  readonly index: number
  /** Its text, unchanged. */
  readonly body: string
  /** As it was appended. Rows that a version before 0.3 wrote have none. */
  readonly at?: number
  /** As it was appended. */
  readonly salt?: string
}

/** How long a log is and the root of the tree of its rows, in hexadecimal: two logs with equal heads are equal. */
export interface Head {
  /** How many rows the log has. */
  readonly size: number
  /** The root of the Merkle tree over its rows: 64 hexadecimal digits. */
  readonly root: string
}
